package road

import (
	"fmt"
	"strings"
)

// A block is a fenced piece of README: commands, a file of Go, a Dockerfile, or what is printed.
type block struct {
	language string
	text     string
}

// section lists the blocks under a heading, up to the next heading of its level.
func section(page, heading string) ([]block, error) {
	_, rest, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		return nil, fmt.Errorf("there is no heading %q", heading)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	var blocks []block
	for {
		_, after, opened := strings.Cut(rest, "\n```")
		if !opened {
			return blocks, nil
		}
		text, tail, closed := strings.Cut(after, "\n```")
		if !closed {
			return nil, fmt.Errorf("a block under %q does not end", heading)
		}
		language, text, _ := strings.Cut(text, "\n")
		blocks = append(blocks, block{language, text + "\n"})
		rest = tail
	}
}

// commands lists the lines of a block of commands without their comments.
func (b block) commands() (list []string) {
	for line := range strings.Lines(b.text) {
		line, _, _ = strings.Cut(line, "   #")
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	return list
}

// image is what a Dockerfile does: the commands of its build stage that are ours, and the program it starts.
func (b block) image() (commands []string, entrypoint string) {
	for line := range strings.Lines(b.text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "   #")
		if command, ok := strings.CutPrefix(line, "RUN "); ok && !strings.HasPrefix(command, "apt-get ") {
			commands = append(commands, command)
		}
		if program, ok := strings.CutPrefix(line, "ENTRYPOINT "); ok {
			entrypoint = strings.Trim(program, `[]" `)
		}
	}
	return commands, entrypoint
}
