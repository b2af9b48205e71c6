package main

func dump(args []string) error     { return nil }
func bench(args []string) error    { return nil }
func generate(args []string) error { return nil }
func spec(args []string) error     { return nil }
