package tensorboard

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// AddHParams says with which hyperparameters a run was made and to which metrics it led, for TensorBoard's table of runs. Values
// are numbers, strings and bools. A run has one set of them: the writer's folder is the run.
//
//	log.AddHParams(map[string]any{"lr": 0.1, "optimizer": "sgd"}, map[string]float64{"accuracy": 0.93})
func (w *Writer) AddHParams(values map[string]any, metrics map[string]float64) error {
	if len(values) == 0 {
		return errors.New("tensorboard: there are no hyperparameters")
	}
	kinds := map[string]kind{}
	for name, v := range values {
		k, err := kindOf(v)
		if err != nil {
			return fmt.Errorf("tensorboard: hyperparameter %q: %w", name, err)
		}
		kinds[name] = k
	}
	names, results := slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(metrics))
	for _, part := range []struct {
		tag   string
		field int
		fill  func(*message)
	}{
		{"_hparams_/experiment", 2, func(m *message) {
			for _, name := range names {
				m.in(4, func(info *message) { info.text(1, name); info.integer(4, kinds[name].code) })
			}
			for _, name := range results {
				m.in(5, func(info *message) { info.in(1, func(metric *message) { metric.text(2, name) }) })
			}
		}},
		{"_hparams_/session_start_info", 3, func(m *message) {
			for _, name := range names {
				m.in(1, func(entry *message) { entry.text(1, name); entry.in(2, kinds[name].put) })
			}
		}},
		{"_hparams_/session_end_info", 4, func(m *message) { m.integer(1, 1) }}, // success
	} {
		var content message
		content.integer(1, 0) // the version
		content.in(part.field, part.fill)
		if err := w.summary(part.tag, 0, func(v *message) { plugin(v, "hparams", content) }); err != nil {
			return err
		}
	}
	for _, name := range results {
		if err := w.AddScalar(name, metrics[name], 0); err != nil {
			return err
		}
	}
	return nil
}

// plugin says which of TensorBoard's plugins shows a value.
func plugin(value *message, name string, content []byte) {
	value.in(9, func(metadata *message) {
		metadata.in(1, func(m *message) {
			m.text(1, name)
			if len(content) > 0 {
				m.bytes(2, content)
			}
		})
	})
}

// A kind is that of a hyperparameter: its number in TensorBoard, and how its value is written.
type kind struct {
	code int64
	put  func(value *message)
}

func kindOf(v any) (kind, error) {
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.String:
		return kind{1, func(m *message) { m.text(3, r.String()) }}, nil
	case r.Kind() == reflect.Bool:
		flag := int64(0)
		if r.Bool() {
			flag = 1
		}
		return kind{2, func(m *message) { m.integer(4, flag) }}, nil
	case r.CanInt():
		return number(float64(r.Int())), nil
	case r.CanUint():
		return number(float64(r.Uint())), nil
	case r.CanFloat():
		return number(r.Float()), nil
	}
	return kind{}, fmt.Errorf("a %T is no number, string or bool", v)
}

func number(v float64) kind { return kind{3, func(m *message) { m.double(2, v) }} }
