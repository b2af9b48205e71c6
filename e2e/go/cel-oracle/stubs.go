package main

func bench(args []string) error { return nil }
func spec(args []string) error  { return nil }
