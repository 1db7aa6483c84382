package amp

import (
	"fmt"
	"reflect"

	"github.com/libtorch-go/libtorch/torch"
)

// StateDict is the state under PyTorch's five names: scale, growth_factor, backoff_factor,
// growth_interval and _growth_tracker. It is empty if the scaler does nothing. Take it
// after a step.
func (s *GradScaler) StateDict() map[string]any {
	if !s.enabled {
		return map[string]any{}
	}
	return map[string]any{
		"scale":           s.Scaling(),
		"growth_factor":   s.growthFactor,
		"backoff_factor":  s.backoffFactor,
		"growth_interval": s.growthInterval,
		"_growth_tracker": s.growthTracker(),
	}
}

// LoadStateDict restores a state that StateDict or PyTorch made. A scaler that does nothing
// ignores it.
func (s *GradScaler) LoadStateDict(d map[string]any) error {
	if !s.enabled {
		return nil
	}
	if len(d) == 0 {
		return fmt.Errorf("amp: the scaler's state is empty: it was saved by a scaler that did nothing")
	}
	numbers := map[string]float64{}
	for _, name := range []string{"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"} {
		n, err := number(d, name)
		if err != nil {
			return err
		}
		numbers[name] = n
	}
	s.initScale, s.initTracker = numbers["scale"], int(numbers["_growth_tracker"])
	s.growthFactor, s.backoffFactor, s.growthInterval = numbers["growth_factor"], numbers["backoff_factor"], int(numbers["growth_interval"])
	if s.scale.Defined() {
		torch.NoGrad(func() {
			s.scale.FillInPlace(s.initScale)
			s.tracker.FillInPlace(s.initTracker)
		})
	}
	return nil
}

func number(d map[string]any, name string) (float64, error) {
	switch v := reflect.ValueOf(d[name]); {
	case v.CanFloat():
		return v.Float(), nil
	case v.CanInt():
		return float64(v.Int()), nil
	}
	return 0, fmt.Errorf("amp: the scaler's state has no number %q: %v", name, d[name])
}
