package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"os"
)

// serve answers requests on standard input, one a line, until it ends.
func serve(args []string) error {
	flags := flag.NewFlagSet("oracle", flag.ExitOnError)
	nodeFile := flags.String("node", "../../../tests/template/node.json", "the node that functions speak of")
	if err := flags.Parse(args); err != nil {
		return err
	}
	functions, err := readFunctions(*nodeFile)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		data, err := decode(r.Data)
		if err != nil {
			return err
		}
		if err := encoder.Encode(r.answer(data, functions)); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}
