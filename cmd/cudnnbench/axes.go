package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/internal/cli"
	"github.com/libtorch-go/libtorch/torch"
)

// An axis is something that can be set one way or another.
type axis struct {
	name      string   // of its flag
	heading   string   // of its column
	words     []string // its values; without any, values are numbers above 0
	cpu, cuda string   // the values measured by default; "" if a device has no such switch
	usage     string
}

var onOff = []string{"off", "on"}

// axes are all axes, in the order of the tables' columns.
var axes = []axis{
	{"benchmark", "bench", onOff, "", "off,on", "cuDNN tries its algorithms for each shape and keeps the fastest"},
	{"deterministic", "determ", onOff, "off", "off", "cuDNN or oneDNN takes only algorithms that give the same bits each time"},
	{"tf32", "tf32", onOff, "", "off,on", "float32 convolutions and products on tensor cores, with 10 bits of mantissa"},
	{"amp", "amp", []string{"off", "fp16", "bf16"}, "off,bf16", "off,fp16,bf16", "mixed precision"},
	{"channels-last", "ch-last", onOff, "off,on", "off,on", "images and weights in channels_last"},
	{"graph", "graph", onOff, "", "off,on", "the step as a CUDA graph"},
	{"threads", "threads", nil, "1,all", "", "threads of an operation; all is one for each processor"},
	{"onednn", "onednn", onOff, "on", "", "convolutions by oneDNN"},
	{"precision", "precision", []string{"default", "ieee", "tf32", "bf16"}, "default", "", "how oneDNN may compute inside float32 operations"},
}

// defaultFor is what is measured on a device if the flag is not given.
func (a axis) defaultFor(d torch.Device) string {
	if d.IsCUDA() {
		return a.cuda
	}
	return a.cpu
}

// help says which values the flag takes.
func (a axis) help() string {
	values := "numbers"
	if a.words != nil {
		values = strings.Join(a.words, ", ")
	}
	of := fmt.Sprintf("%s on a CPU, %s on CUDA", a.cpu, a.cuda)
	switch {
	case a.cpu == a.cuda:
		of = a.cpu
	case a.cuda == "":
		of = a.cpu + "; on a CPU only"
	case a.cpu == "":
		of = a.cuda + "; on CUDA only"
	}
	return fmt.Sprintf("%s: a `list` of %s (default %s)", a.usage, values, of)
}

// parse reads a list of values.
func (a axis) parse(text string) (values []string, err error) {
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		if a.words == nil && word == "all" {
			word = strconv.Itoa(runtime.NumCPU())
		}
		n, failed := strconv.Atoi(word)
		switch {
		case a.words == nil && (failed != nil || n <= 0):
			return nil, cli.Usagef("-%s: %q is not a number above 0", a.name, word)
		case a.words != nil && !slices.Contains(a.words, word):
			return nil, cli.Usagef("-%s: there is no %q, expected a list of %s", a.name, word, strings.Join(a.words, ", "))
		}
		if !slices.Contains(values, word) {
			values = append(values, word)
		}
	}
	return values, nil
}

// A choice is an axis with the values to measure. The first is the baseline's.
type choice struct {
	axis
	values []string
}

func (c choice) varied() bool { return len(c.values) > 1 }

// A setting has a value for every axis of the device, by the axis's name.
type setting map[string]string

func (s setting) on(name string) bool { return s[name] == "on" }

// with is s but for one axis.
func (s setting) with(name, value string) setting {
	other := maps.Clone(s)
	other[name] = value
	return other
}

// text names the values of the varied axes by their headings: "amp bf16, ch-last on".
func (s setting) text(choices []choice) string {
	var words []string
	for _, c := range choices {
		if c.varied() {
			words = append(words, c.heading+" "+s[c.name])
		}
	}
	return strings.Join(words, ", ")
}

// changes names the values that are not the baseline's.
func (s setting) changes(choices []choice) (words []string) {
	for _, c := range choices {
		if s[c.name] != c.values[0] {
			words = append(words, c.name+" "+s[c.name])
		}
	}
	return words
}

// A rule leaves out settings that would be measured twice: an axis that has no effect
// keeps its first value.
type rule struct {
	axis    string
	useless func(setting) bool
	reason  string
}

var rules = []rule{
	{"tf32", halved, "tf32 has no effect with amp"},
	{"precision", halved, "precision has no effect with amp"},
	{"precision", func(s setting) bool { return s["onednn"] == "off" }, "precision is oneDNN's"},
	{"deterministic", func(s setting) bool { return s["onednn"] == "off" }, "deterministic is oneDNN's"},
}

// halved tells that no convolution or product is in float32.
func halved(s setting) bool { return s.dtype() != torch.Float32 }

// combine makes the settings to measure, the baseline first. It also returns how many
// of all combinations were left out and why; "" if none was.
func combine(choices []choice) (list []setting, leftOut string) {
	all := []setting{{}}
	for _, c := range choices {
		var more []setting
		for _, s := range all {
			for _, v := range c.values {
				more = append(more, s.with(c.name, v))
			}
		}
		all = more
	}
	var reasons []string
	for _, s := range all {
		if broken := firstRule(s, choices); broken == nil {
			list = append(list, s)
		} else if !slices.Contains(reasons, broken.reason) {
			reasons = append(reasons, broken.reason)
		}
	}
	if len(list) == len(all) {
		return list, ""
	}
	return list, fmt.Sprintf("%d of %d combinations are left out: %s", len(all)-len(list), len(all), strings.Join(reasons, "; "))
}

// firstRule is the first rule that leaves s out, or nil.
func firstRule(s setting, choices []choice) *rule {
	for i, r := range rules {
		at := slices.IndexFunc(choices, func(c choice) bool { return c.name == r.axis })
		if at >= 0 && s[r.axis] != choices[at].values[0] && r.useless(s) {
			return &rules[i]
		}
	}
	return nil
}
