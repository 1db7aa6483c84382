package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// A schema is one of OpenAPI's, as far as the protocol's definition uses them.
type schema struct {
	Ref                  string `yaml:"$ref"`
	Type                 string
	Properties           map[string]schema
	AdditionalProperties *schema `yaml:"additionalProperties"`
	Required             []string
	Items                *schema
	AnyOf                []schema `yaml:"anyOf"`
}

// content is a body of that media type.
type content map[string]struct{ Schema *schema }

type operation struct {
	RequestBody struct{ Content content } `yaml:"requestBody"`
	Responses   map[string]struct{ Content content }
}

// openAPI is the protocol's published definition for HTTP.
type openAPI struct {
	Paths map[string]struct {
		Get, Post *operation
	}
	Components struct{ Schemas map[string]schema }
}

// wrong tells what in a value is not as the schema has it; nothing if all is.
func (d *openAPI) wrong(s schema, v any, at string) error {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		own, found := d.Components.Schemas[name]
		if !found {
			return fmt.Errorf("there is no schema %q", name)
		}
		return d.wrong(own, v, at)
	}
	if len(s.AnyOf) > 0 {
		fits := slices.ContainsFunc(s.AnyOf, func(one schema) bool { return d.wrong(one, v, at) == nil })
		if !fits {
			return fmt.Errorf("%s is %v, none of what it may be", at, v)
		}
		return nil
	}
	fits := true
	switch v := v.(type) {
	case map[string]any:
		fits = s.Type == "object"
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				return fmt.Errorf("%s lacks %q", at, name)
			}
		}
		for name, x := range v {
			own, named := s.Properties[name]
			if !named && s.AdditionalProperties != nil {
				own, named = *s.AdditionalProperties, true
			}
			if named {
				if err := d.wrong(own, x, at+"."+name); err != nil {
					return err
				}
			}
		}
	case []any:
		fits = s.Type == "array"
		for i, x := range v {
			if fits && s.Items != nil {
				if err := d.wrong(*s.Items, x, fmt.Sprintf("%s[%d]", at, i)); err != nil {
					return err
				}
			}
		}
	case string:
		fits = s.Type == "string"
	case bool:
		fits = s.Type == "boolean"
	case float64:
		fits = s.Type == "number" || s.Type == "integer" && v == math.Trunc(v)
	default:
		fits = false
	}
	if !fits {
		return fmt.Errorf("%s is %v, expected a value of type %s", at, v, s.Type)
	}
	return nil
}

// body checks a body in JSON.
func (d *openAPI) body(t *testing.T, c content, text, what string) {
	t.Helper()
	s := c["application/json"].Schema
	if s == nil {
		return
	}
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v), "%s: %s", what, text)
	require.NoError(t, d.wrong(*s, v, what))
}

// All paths of the protocol's published OpenAPI answer as it says, with its statuses and its schemas.
func TestPublishedOpenAPI(t *testing.T) {
	torchtest.NoLeaks(t)
	text, err := os.ReadFile("testdata/open_inference_rest.yaml")
	require.NoError(t, err)
	var d openAPI
	require.NoError(t, yaml.Unmarshal(text, &d))
	require.Len(t, d.Paths, 6)
	r := begin(t)
	http200 := func(method, path string, body string) string {
		status, text := r.do(method, path, []byte(body))
		require.Equal(t, http.StatusOK, status, "%s %s: %s", method, path, text)
		return text
	}
	pixels := strings.Repeat("0.5,", 3*32*32-1) + "0.5"
	infer := `{"id":"42","parameters":{"priority":1},"inputs":[{"name":"image","shape":[1,3,32,32],"datatype":"FP32","data":[` + pixels +
		`]}],"outputs":[{"name":"scores"}]}`
	classes := strings.Replace(infer, `{"name":"scores"}`, `{"name":"scores","parameters":{"classification":2}}`, 1)
	for path, p := range d.Paths {
		own := strings.NewReplacer("${MODEL_NAME}", "cifar10", "${MODEL_VERSION}", "1").Replace(path)
		require.True(t, p.Get != nil || p.Post != nil, path)
		if p.Get != nil {
			d.body(t, p.Get.Responses["200"].Content, http200("GET", own, ""), path)
		}
		if p.Post != nil {
			for _, q := range []string{infer, classes} {
				d.body(t, p.Post.RequestBody.Content, q, path+" request")
				d.body(t, p.Post.Responses["200"].Content, http200("POST", own, q), path)
			}
			req := strings.Replace(infer, "FP32", "FP64", 1)
			resp, err := http.Post(r.url+own, "application/json", strings.NewReader(req))
			require.NoError(t, err)
			require.Equal(t, http.StatusBadRequest, resp.StatusCode)
			var v any
			require.NoError(t, json.NewDecoder(resp.Body).Decode(&v))
			resp.Body.Close()
			require.NoError(t, d.wrong(*p.Post.Responses["400"].Content["application/json"].Schema, v, "refusal"))
		}
	}
	spec := d.Components.Schemas["inference_response"]
	for want, text := range map[string]string{ // the check itself finds what is wrong
		`lacks "outputs"`:               `{"model_name":"m"}`,
		"expected a value of type":      `{"model_name":1,"outputs":[]}`,
		"x.outputs[0].shape[0] is 0.5,": `{"model_name":"m","outputs":[{"name":"","datatype":"","shape":[0.5],"data":[]}]}`,
		"none of what it may be":        `{"model_name":"m","outputs":[{"name":"","datatype":"","shape":[],"data":[{}]}]}`,
	} {
		var v any
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		require.ErrorContains(t, d.wrong(spec, v, "x"), want)
	}
}

// The code for gRPC has the fields of the published definitions, by their numbers.
func TestPublishedProto(t *testing.T) {
	comment, scope := regexp.MustCompile(`//.*`), regexp.MustCompile(`^\s*(?:message|oneof|enum|service) (\w+)`)
	field := regexp.MustCompile(`^\s*(?:optional |repeated )?(?:map<[^>]+>|[\w.]+)\s+(\w+) = (\d+)( \[.*\])?;`)
	files, err := filepath.Glob("internal/inference/*.proto")
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		published := map[string]string{}
		var scopes []string
		for line := range strings.Lines(comment.ReplaceAllString(string(text), "")) {
			if found := scope.FindStringSubmatch(line); found != nil && !strings.Contains(line, "}") {
				name := found[1]
				if strings.Contains(line, "oneof ") || strings.Contains(line, "enum ") || strings.Contains(line, "service ") {
					name = ""
				}
				scopes = append(scopes, name)
			} else if found := field.FindStringSubmatch(line); found != nil && !strings.Contains(line, "package") {
				if in := strings.Join(slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == "" }), "."); in != "" {
					published["inference."+in+"."+found[1]] = found[2]
				}
			}
			if line = strings.TrimSpace(line); strings.HasSuffix(line, "}") && !strings.Contains(line, "{") {
				scopes = scopes[:len(scopes)-1]
			}
		}
		own := map[string]string{}
		file, err := protoregistry.GlobalFiles.FindFileByPath(filepath.Base(path))
		require.NoError(t, err)
		eachField(file.Messages(), func(f protoreflect.FieldDescriptor) { own[string(f.FullName())] = fmt.Sprint(f.Number()) })
		require.NotEmpty(t, own)
		require.Equal(t, slices.Sorted(maps.Keys(published)), slices.Sorted(maps.Keys(own)), path)
		require.Equal(t, published, own, path)
	}
}

func eachField(list protoreflect.MessageDescriptors, visit func(protoreflect.FieldDescriptor)) {
	for i := range list.Len() {
		if m := list.Get(i); !m.IsMapEntry() {
			for k := range m.Fields().Len() {
				visit(m.Fields().Get(k))
			}
			eachField(m.Messages(), visit)
		}
	}
}
