package migrate

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed rules.txt
var ruleText string

// rule is what becomes of a name.
type rule struct {
	name, text, hint string
}

// list are the rules in their order.
var ruleList = sync.OnceValue(func() (list []rule) {
	for line := range strings.Lines(ruleText) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := append(strings.Split(line, "\t"), "", "")
		list = append(list, rule{fields[0], fields[1], fields[2]})
	}
	return list
})

// rules are the rules by their names.
var rules = sync.OnceValue(func() map[string]rule {
	m := map[string]rule{}
	for _, r := range ruleList() {
		m[r.name] = r
	}
	return m
})
