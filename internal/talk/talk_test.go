package talk_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/talk"
)

type message struct{ Text string }

// TestMain lets the test binary be the process that answers.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "answer" {
		if err := talk.Answer(os.Stdin, os.Stdout, reply); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		return
	}
	os.Exit(m.Run())
}

func reply(q message) message {
	switch q.Text {
	case "die":
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 5000)+"\nout of luck")
		os.Exit(7)
	case "ponder":
		time.Sleep(time.Hour)
	case "chatter":
		fmt.Println("no JSON")
	}
	return message{q.Text + "!"}
}

func start(t *testing.T) *talk.Partner {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p, err := talk.Start("the parrot", exec.Command(self, "answer"))
	require.NoError(t, err)
	return p
}

func TestQuestionsAreAnswered(t *testing.T) {
	p := start(t)
	for i := range 3 {
		var a message
		require.NoError(t, p.Ask(message{fmt.Sprint("hello ", i)}, &a))
		require.Equal(t, fmt.Sprintf("hello %d!", i), a.Text)
	}
	require.Empty(t, p.Stderr())
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	require.ErrorContains(t, p.Ask(message{}, &message{}), "the parrot has ended")
}

func TestDeathIsTold(t *testing.T) {
	p := start(t)
	err := p.Ask(message{"die"}, &message{})
	require.ErrorContains(t, err, "the parrot has ended: exit status 7: xxx")
	require.True(t, strings.HasSuffix(err.Error(), "x; out of luck"), "%v", err)
	require.Less(t, len(err.Error()), 4200, "only the end is kept")
	require.Empty(t, p.Stderr(), "it was told")
	require.NoError(t, p.Close())
}

// Who waits for an answer is told of the end of a process that would never give it.
func TestKill(t *testing.T) {
	p := start(t)
	time.AfterFunc(50*time.Millisecond, p.Kill)
	require.ErrorContains(t, p.Ask(message{"ponder"}, &message{}), "the parrot has ended: signal: killed")
	require.NoError(t, p.Close())
	p.Kill()
}

func TestNonsenseIsTold(t *testing.T) {
	p := start(t)
	require.ErrorContains(t, p.Ask(message{"chatter"}, &message{}), "the parrot gave no answer: invalid character")
	require.NoError(t, p.Close())

	self, err := os.Executable()
	require.NoError(t, err)
	_, err = talk.Start("nobody", exec.Command(self+".absent"))
	require.ErrorContains(t, err, "nobody does not start: ")
	require.EqualError(t, talk.Answer(strings.NewReader("no"), os.Stderr, reply), "invalid character 'o' in literal null (expecting 'u')")
}
