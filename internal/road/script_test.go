package road

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A step is a command of README and the seconds that it took.
type step struct {
	command string
	seconds float64
}

// prelude has each command run in the same shell, as if typed: those in the background end with it.
const prelude = `set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
step() {
	local start=${EPOCHREALTIME/[.,]/}
	echo "\$ $1"
	eval "$1"
	echo "@@ $(((${EPOCHREALTIME/[.,]/} - start) / 1000)) $1"
}
`

// script is what a user would type for these blocks: commands, and files of Go written with an editor.
func script(blocks []block) string {
	var b strings.Builder
	b.WriteString(prelude)
	for _, block := range blocks {
		switch block.language {
		case "sh":
			for _, command := range block.commands() {
				fmt.Fprintf(&b, "step '%s'\n", strings.ReplaceAll(command, "'", `'\''`))
			}
		case "go":
			fmt.Fprintf(&b, "cat >main.go <<'END OF FILE'\n%sEND OF FILE\n", block.text)
		}
	}
	return b.String()
}

var done = regexp.MustCompile(`(?m)^@@ (\d+) (.*)$`)

// run runs a script and returns what it printed, and the steps.
func run(t *testing.T, dir, text string, env []string) (string, []step) {
	t.Helper()
	cmd := exec.Command("bash", "-c", text)
	cmd.Dir, cmd.Env = dir, env
	var out bytes.Buffer
	cmd.Stdout = io.MultiWriter(os.Stdout, &out)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Run(), "%s", out.String())
	var steps []step
	for _, m := range done.FindAllStringSubmatch(out.String(), -1) {
		ms, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		steps = append(steps, step{m[2], float64(ms) / 1000})
	}
	return out.String(), steps
}
