package home

import (
	"runtime/debug"
	"slices"
	"strings"
)

// Module is the path of this module.
const Module = "github.com/libtorch-go/libtorch"

// Version is the version of this module in the program, as go.mod has it: "v1.2.3". It is "" in a
// program that was built from a checkout, whose sources have no fixed version.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return versionIn(info)
}

func versionIn(info *debug.BuildInfo) string {
	mod := moduleIn(info)
	if mod == nil || !strings.HasPrefix(mod.Version, "v") {
		return "" // none of ours, "(devel)", or a folder that go.mod names in our place
	}
	return mod.Version
}

// moduleIn is this module among those that a program was built from, or what go.mod has put in its place.
func moduleIn(info *debug.BuildInfo) *debug.Module {
	mod := &info.Main
	if mod.Path == Module {
		for _, s := range info.Settings {
			if strings.HasPrefix(s.Key, "vcs") {
				return nil // a checkout, which Go has given a version of its own making
			}
		}
	} else {
		at := slices.IndexFunc(info.Deps, func(dep *debug.Module) bool { return dep.Path == Module })
		if at < 0 {
			return nil
		}
		mod = info.Deps[at]
	}
	if mod.Replace != nil {
		return mod.Replace
	}
	return mod
}
