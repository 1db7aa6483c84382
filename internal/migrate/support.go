package migrate

import (
	"embed"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
)

//go:embed support/*.go
var supportFiles embed.FS

// declaration is one of package support: its text, and what else of the package it names.
type declaration struct {
	order   int
	text    string
	needs   map[string]bool
	imports map[string]string // paths by the names that the text has for them
}

// supportFor is a file of package name with the declarations of package support that are wanted, and those that they need.
func supportFor(name string, wanted map[string]bool) ([]byte, error) {
	all, err := declarations()
	if err != nil {
		return nil, err
	}
	chosen := map[string]bool{}
	var choose func(name string)
	choose = func(name string) {
		if chosen[name] {
			return
		}
		chosen[name] = true
		for _, d := range all[name] {
			for n := range d.needs {
				choose(n)
			}
		}
	}
	for name := range wanted {
		if all[name] == nil {
			return nil, fmt.Errorf("package support has no %s", name)
		}
		choose(name)
	}
	var parts []declaration
	imports := map[string]string{}
	for n := range chosen {
		for _, d := range all[n] {
			parts = append(parts, d)
			maps.Copy(imports, d.imports)
		}
	}
	slices.SortFunc(parts, func(a, b declaration) int { return a.order - b.order })
	var b strings.Builder
	b.WriteString("// What gotorch had and libtorch for Go does not have in one call. `libtorch migrate` wrote it; it is yours.\n\n")
	fmt.Fprintf(&b, "package %s\n\n", name)
	b.WriteString("import (\n")
	lines := slices.Collect(maps.Values(imports))
	slices.SortFunc(lines, byPath)
	for i, line := range lines {
		if i > 0 && group(line) != group(lines[i-1]) {
			b.WriteString("\n")
		}
		b.WriteString("\t" + line + "\n")
	}
	b.WriteString(")\n")
	for _, d := range parts {
		b.WriteString("\n" + d.text + "\n")
	}
	return format.Source([]byte(b.String()))
}

// declarations are those of package support, methods with their types.
func declarations() (map[string][]declaration, error) {
	entries, err := supportFiles.ReadDir("support")
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	texts := map[*ast.File][]byte{}
	names := map[string]bool{}
	for _, e := range entries {
		text, err := supportFiles.ReadFile("support/" + e.Name())
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(set, e.Name(), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files, texts[file] = append(files, file), text
		for _, d := range file.Decls {
			for _, n := range declared(d) {
				names[n] = true
			}
		}
	}
	all := map[string][]declaration{}
	order := 0
	for _, file := range files {
		for _, d := range file.Decls {
			order++
			own := declared(d)
			one := describe(set, file, d, texts[file], names)
			one.order = order
			for _, n := range own {
				all[n] = append(all[n], one)
			}
		}
	}
	return all, nil
}

// declared are the names that a declaration belongs to: its own, or the type of a method.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		t := d.Recv.List[0].Type
		if p, ok := t.(*ast.StarExpr); ok {
			t = p.X
		}
		return []string{t.(*ast.Ident).Name}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

func describe(set *token.FileSet, file *ast.File, d ast.Decl, text []byte, names map[string]bool) declaration {
	one := declaration{needs: map[string]bool{}, imports: map[string]string{}}
	from := d.Pos()
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc != nil {
			from = d.Doc.Pos()
		}
	case *ast.GenDecl:
		if d.Doc != nil {
			from = d.Doc.Pos()
		}
	}
	one.text = string(text[set.Position(from).Offset:set.Position(d.End()).Offset])
	ast.Inspect(d, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if names[id.Name] {
			one.needs[id.Name] = true
		}
		for _, spec := range file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			name := path[strings.LastIndex(path, "/")+1:]
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if name == id.Name {
				line := spec.Path.Value
				if spec.Name != nil {
					line = spec.Name.Name + " " + line
				}
				one.imports[name] = line
			}
		}
		return true
	})
	if one.needs["decodePicture"] {
		for _, kind := range []string{"gif", "jpeg", "png"} {
			one.imports["_"+kind] = `_ "image/` + kind + `"`
		}
	}
	return one
}
