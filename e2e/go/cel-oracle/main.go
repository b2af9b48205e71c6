// cel-oracle says what Kubernetes 1.36 makes of a CEL expression: it asks the API server's own packages.
// See README.md for the subcommands and the format of requests, answers and values.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

var commands = map[string]func(args []string) error{
	"oracle":   serve,
	"dump":     dump,
	"bench":    bench,
	"generate": generate,
	"vectors":  vectors,
	"spec":     spec,
}

func main() {
	name, args := "oracle", os.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name, args = args[0], args[1:]
	}
	run, known := commands[name]
	if !known {
		fmt.Fprintf(os.Stderr, "cel-oracle: no subcommand %q, there are: %s\n", name, strings.Join(names(), ", "))
		os.Exit(2)
	}
	if err := run(args); err != nil {
		fmt.Fprintf(os.Stderr, "cel-oracle %s: %v\n", name, err)
		os.Exit(1)
	}
}

func names() []string {
	var all []string
	for name := range commands {
		all = append(all, name)
	}
	sort.Strings(all)
	return all
}
