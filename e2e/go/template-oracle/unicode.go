package main

import (
	"fmt"
	"strings"
	"unicode"
)

// unicodeTables prints which characters are letters, digits and printable: src/template/go/unicode.txt.
func unicodeTables([]string) error {
	fmt.Printf("unicode %s\n", unicode.Version)
	for _, table := range []struct {
		name string
		has  func(rune) bool
	}{{"letter", unicode.IsLetter}, {"digit", unicode.IsDigit}, {"print", unicode.IsPrint}} {
		fmt.Printf("%s %s\n", table.name, strings.Join(ranges(table.has), " "))
	}
	return nil
}

func ranges(has func(rune) bool) []string {
	var all []string
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if !has(r) {
			continue
		}
		first := r
		for has(r + 1) {
			r++
		}
		if first == r {
			all = append(all, fmt.Sprintf("%x", first))
		} else {
			all = append(all, fmt.Sprintf("%x-%x", first, r))
		}
	}
	return all
}
