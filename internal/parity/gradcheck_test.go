package parity

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// contradicted are the operators whose gradients finite differences contradict for some of
// their samples.
var contradicted = []struct{ op, why string }{
	{"as_strided_scatter", "elements written twice: each of their sources gets a gradient, but one of them counts"},
	{"max_unpool2d", "elements written twice: each of their sources gets a gradient, but one of them counts"},
	{"max_unpool3d", "elements written twice: each of their sources gets a gradient, but one of them counts"},
	{"normal.Tensor_Tensor", "the numbers drawn have no gradient, though they move with their mean"},
	{"normal.Tensor_float", "the numbers drawn have no gradient, though they move with their mean"},
	{"linalg_norm", "at zero a norm has a corner, and the gradient is one of many"},
	{"linalg_norm.ord_str", "at zero a norm has a corner, and the gradient is one of many"},
	{"linalg_pinv.atol_rtol_tensor", "the pseudoinverse jumps where the rank changes; the sample changes its factors only"},
	{"linalg_svd", "nothing determines the vectors that make U or V square"},
	{"svd", "nothing determines the vectors that make U or V square"},
}

// checks are what became of the cases of gradient checks.
type checks struct {
	passed int
	ops    map[string]bool
	left   map[string]string // the reason for each case that is left out, "entry dtype index"
	known  map[string]bool   // those of contradicted that were met
}

// entry checks the gradients of an entry's cases.
func (s *checks) entry(t *testing.T, e Entry, c *chunk) {
	for i := range c.cases {
		k := &c.cases[i]
		if k.Inner || k.Error != nil || k.Grads == nil || k.GradError != nil {
			continue
		}
		torch.Scope(func() {
			name := fmt.Sprintf("%s %s %d", e.Name, e.DType, i)
			reason, err := s.one(c, k)
			switch {
			case err != nil:
				t.Errorf("%s: %s: %v", name, k.Op, err)
			case reason != "":
				s.left[name] = reason
			default:
				s.passed++
				s.ops[k.Op] = true
			}
		})
	}
}

// one returns the reason why a case is left out, or what is wrong with its gradients.
func (s *checks) one(c *chunk, k *Case) (reason string, err error) {
	if _, err := prepare(c, k); err != nil {
		return "", err
	}
	fn, in := c.differentiable(k)
	if reason = incomparable(fn, in); reason != "" {
		return reason, nil
	}
	if err = torchtest.CheckGradients(fn, in, torchtest.GradCheckOptions{Fast: true}); err == nil {
		return "", nil
	}
	for _, known := range contradicted {
		if k.Op == known.op {
			s.known[k.Op] = true
			return known.why, nil
		}
	}
	return "", err
}

// TestGradCheck holds the gradients of the recorded calls, made by the typed functions,
// against finite differences. What is left out is what PyTorch's gradcheck refuses.
func TestGradCheck(t *testing.T) {
	torchtest.NoLeaks(t)
	quiet(t)
	o := Options{Mode: "calls", Names: *names, Samples: 3, DTypes: []string{"float64", "complex128"}}
	if *full {
		o.Samples = 0
	}
	s := &checks{ops: map[string]bool{}, left: map[string]string{}, known: map[string]bool{}}
	for e, c := range Record(t, o) {
		s.entry(t, e, c)
	}
	reasons, entries := map[string]int{}, map[string]bool{}
	for name, reason := range s.left {
		reasons[reason]++
		entry, _, _ := strings.Cut(name, " ")
		entries["^"+regexp.QuoteMeta(entry)+"$"] = true
	}
	for reason, n := range reasons {
		t.Logf("%d left out: %s", n, reason)
	}
	t.Logf("%d cases of %d operators pass, %d left out", s.passed, len(s.ops), len(s.left))
	if *names == "" {
		require.GreaterOrEqual(t, s.passed, 1300)
	}
	if *names == "" && *full {
		assert.Len(t, s.known, len(contradicted), "those that nothing contradicts any longer: met are %v", s.known)
	}
	if len(entries) == 0 {
		return
	}
	o.Names = strings.Join(slices.Collect(maps.Keys(entries)), "|")
	python := pythons(t, o)
	for name, reason := range s.left {
		// PyTorch's gradcheck knows sparse tensors, torchtest's does not.
		assert.True(t, python[name] || reason == sparseInput, "%s is left out (%s), but Python accepts it", name, reason)
	}
	for name := range python {
		assert.Contains(t, s.left, name, "Python refuses it")
	}
}

// pythons are the cases that PyTorch's gradcheck refuses, named as in checks.
func pythons(t *testing.T, o Options) map[string]bool {
	cmd := peer.Command(t, script(t, "gradcheck.py"), t.TempDir(), "--names", o.Names, "--dtypes", strings.Join(o.DTypes, ","),
		"--samples", strconv.Itoa(o.Samples), "--inner", "0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	refused := map[string]bool{}
	for line := range bytes.Lines(out) {
		var e struct {
			Name, DType string
			Refused     map[string]string
		}
		require.NoError(t, json.Unmarshal(line, &e))
		for i := range e.Refused {
			refused[fmt.Sprintf("%s %s %s", e.Name, e.DType, i)] = true
		}
	}
	return refused
}
