// template-oracle says what Go's text/template makes of a template. See README.md for the subcommands and formats.
package main

import (
	"fmt"
	"os"
	"strings"
)

var commands = map[string]func(args []string) error{
	"oracle":  serve,
	"vectors": vectors,
	"unicode": unicodeTables,
	"bench":   bench,
}

func main() {
	name, args := "oracle", os.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	run, known := commands[name]
	if !known {
		fmt.Fprintf(os.Stderr, "template-oracle: no subcommand %q, there are: bench, oracle, unicode, vectors\n", name)
		os.Exit(2)
	}
	if err := run(args); err != nil {
		fmt.Fprintf(os.Stderr, "template-oracle %s: %v\n", name, err)
		os.Exit(1)
	}
}
