package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// serve answers requests on stdin, one a line, until stdin ends. Each answer is flushed at once.
func serve(args []string) error {
	flags := flag.NewFlagSet("oracle", flag.ContinueOnError)
	dir := flags.String("bindings", "", "directory of named bindings")
	timeout := flags.Duration("timeout", 10*time.Second, "end an evaluation after this long")
	if err := flags.Parse(args); err != nil {
		return err
	}
	fixtures, err := readFixtures(*dir)
	if err != nil {
		return err
	}
	judge, err := newJudge(fixtures)
	if err != nil {
		return err
	}
	judge.timeout = *timeout
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var request Request
			answer := Answer{}
			if bad := json.Unmarshal(line, &request); bad != nil {
				answer.BadRequest = bad.Error()
			} else {
				answer = judge.answer(request)
			}
			text, err := encode(answer)
			if err != nil {
				return err
			}
			out.Write(text)
			out.WriteByte('\n')
			if err := out.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// encode is JSON on one line, with <, > and & as they are.
func encode(v any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buffer.Bytes(), "\n"), nil
}

// readFixtures reads DIR/*.json, named by their file.
func readFixtures(dir string) (Fixtures, error) {
	fixtures := Fixtures{}
	if dir == "" {
		return fixtures, nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var b Bindings
		if err := json.Unmarshal(text, &b); err != nil {
			return nil, err
		}
		fixtures[strings.TrimSuffix(filepath.Base(file), ".json")] = b
	}
	return fixtures, nil
}
