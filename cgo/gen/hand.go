package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// handWritten lists what the hand-written files of a package declare: functions, types,
// constants and variables by name, methods as Type.Name.
func handWritten(dir string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	declared := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_gen.go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			for _, name := range declares(d) {
				declared[name] = filepath.Base(path)
			}
		}
	}
	return declared, nil
}

func declares(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			typ := d.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			if id, ok := typ.(*ast.Ident); ok {
				name = id.Name + "." + name
			}
		}
		names = append(names, name)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

// checkHand compares the generated names of package torch with the hand-written ones:
// no name may exist twice, and each form that names.txt calls hand-written must exist.
func checkHand(root string, funcs []*Func, t *Tables) error {
	declared, err := handWritten(filepath.Join(root, "torch"))
	if err != nil || len(declared) == 0 {
		return err
	}
	var problems []error
	made := map[string]bool{}
	for _, f := range funcs {
		keys := []string{f.key(), f.Options}
		if f.factory() {
			keys = append(keys, "TensorOptions."+f.Symbol)
		}
		for _, key := range keys {
			made[key] = true
			if file := declared[key]; file != "" {
				problems = append(problems, fmt.Errorf("name collision: %s of %s is already in torch/%s", key, f.Op.Name(), file))
			}
		}
	}
	for op, form := range t.Hand {
		name := strings.TrimPrefix(form.symbol, "torch.")
		if declared[name] == "" && !made[name] {
			problems = append(problems, fmt.Errorf("names.txt: hand %s: there is no %s", op, form.symbol))
		}
	}
	return errors.Join(problems...)
}
