package checkpoint

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// RecipeError says that a checkpoint is of another run.
type RecipeError struct {
	Path        string
	Differences []string // "epochs is 1 there and 2 here"; empty if the file has no recipe
}

// Error names all that differs.
func (e *RecipeError) Error() string {
	if len(e.Differences) == 0 {
		return fmt.Sprintf("checkpoint: %s has no recipe to compare with: another program wrote it", e.Path)
	}
	return fmt.Sprintf("checkpoint: %s is of another run: %s", e.Path, strings.Join(e.Differences, ", "))
}

// encodeRecipe is a recipe as JSON; empty for none.
func encodeRecipe(recipe any) (string, error) {
	if recipe == nil {
		return "", nil
	}
	text, err := json.Marshal(recipe)
	if err != nil {
		return "", fmt.Errorf("checkpoint: the recipe has no JSON: %w", err)
	}
	return string(text), nil
}

// compare compares the file's recipe with a run's, if that has one.
func (f *File) compare(recipe any) error {
	here, err := encodeRecipe(recipe)
	if err != nil || here == "" {
		return err
	}
	there, _ := f.dict.Get(recipeKey).(string)
	list := []string{}
	if there != "" {
		if list, err = differences(there, here); err != nil {
			return fmt.Errorf("checkpoint: the recipe of %s: %w", f.path, err)
		}
	}
	if there != "" && len(list) == 0 {
		return nil
	}
	return &RecipeError{f.path, list}
}

// differences are those of two texts of JSON, by field if both are objects.
func differences(there, here string) (list []string, err error) {
	var a, b any
	if err := json.Unmarshal([]byte(there), &a); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(here), &b); err != nil {
		return nil, err
	}
	if reflect.DeepEqual(a, b) {
		return nil, nil
	}
	left, okLeft := a.(map[string]any)
	right, okRight := b.(map[string]any)
	if !okLeft || !okRight {
		return []string{fmt.Sprintf("the recipe is %s there and %s here", there, here)}, nil
	}
	all := maps.Clone(left)
	maps.Copy(all, right)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !reflect.DeepEqual(left[key], right[key]) {
			list = append(list, fmt.Sprintf("%s is %v there and %v here", key, left[key], right[key]))
		}
	}
	return list, nil
}
