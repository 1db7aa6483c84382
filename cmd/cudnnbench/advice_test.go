package main

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// choose makes choices: "amp=off,bf16 tf32=off,on".
func choose(t *testing.T, text string) (choices []choice) {
	t.Helper()
	for _, word := range strings.Fields(text) {
		name, list, _ := strings.Cut(word, "=")
		for _, a := range axes {
			if a.name == name {
				values, err := a.parse(list)
				require.NoError(t, err)
				choices = append(choices, choice{a, values})
			}
		}
	}
	require.Len(t, choices, len(strings.Fields(text)))
	return choices
}

// madeUp are cells whose speeds are known: the products of what their values are worth, on a
// machine that drifts, jitters and now and then does something else.
func madeUp(random *rand.Rand, choices []choice, rounds int, worth map[string]float64) (cells []*cell) {
	settings, _ := combine(choices)
	cells = newCells(settings)
	for round := range rounds {
		drift := 1 + 0.3*math.Sin(float64(round))
		for _, c := range cells {
			took := 0.010 * drift * math.Exp(0.01*random.NormFloat64())
			if random.IntN(15) == 0 {
				took *= 1 + 3*random.Float64()
			}
			for name, value := range c.Setting {
				if factor, ok := worth[name+" "+value]; ok {
					took /= factor
				}
			}
			c.Seconds = append(c.Seconds, took)
		}
	}
	return cells
}

// advise finds the planted differences, and nothing else, as often as the intervals
// promise.
func TestAdviceFindsWhatIsPlanted(t *testing.T) {
	for name, c := range map[string]struct {
		axes  string
		worth map[string]float64
		want  []string
		speed float64
	}{
		"ties":       {"amp=off,fp16,bf16 channels-last=off,on", nil, nil, 1},
		"one winner": {"tf32=off,on channels-last=off,on", map[string]float64{"channels-last on": 1.4}, []string{"channels-last on"}, 1.4},
		"two winners": {"amp=off,fp16 channels-last=off,on graph=off,on", map[string]float64{"channels-last on": 1.3, "amp fp16": 2},
			[]string{"amp fp16", "channels-last on"}, 2.6},
		"three values":     {"amp=off,fp16,bf16 graph=off,on", map[string]float64{"amp fp16": 1.5, "amp bf16": 2}, []string{"amp bf16"}, 2},
		"all make it slow": {"threads=1,2 amp=off,bf16", map[string]float64{"threads 2": 0.2, "amp bf16": 0.7}, nil, 1},
		"one each way":     {"threads=1,2 amp=off,bf16", map[string]float64{"threads 2": 1.9, "amp bf16": 0.7}, []string{"threads 2"}, 1.9},
	} {
		t.Run(name, func(t *testing.T) {
			choices := choose(t, c.axes)
			random := rand.New(rand.NewPCG(3, 4))
			const trials = 300
			right, held := 0, 0
			for range trials {
				a := advise(madeUp(random, choices, 20, c.worth), choices)
				require.NotNil(t, a.Best, a.Why)
				if strings.Join(a.Changes, ",") == strings.Join(c.want, ",") {
					right++
				}
				if math.Abs(a.Speed.Median/c.speed-1) < 0.05 {
					held++
				}
			}
			require.GreaterOrEqual(t, float64(right)/trials, 0.95)
			require.GreaterOrEqual(t, float64(held)/trials, 0.95)
		})
	}
}

func TestAdviceInWords(t *testing.T) {
	for name, c := range map[string]struct {
		axes  string
		worth map[string]float64
		want  string
	}{
		"winners and a tie": {"tf32=off,on channels-last=off,on", map[string]float64{"channels-last on": 3},
			`^channels-last on: [23]\.\d\dx \([23]\.\d\d\.\.[23]\.\d\d\) of the baseline; tf32 on makes no difference$`},
		"all ties": {"tf32=off,on channels-last=off,on", nil,
			`^leave all as it is: nothing here is faster for sure; tf32 on, channels-last on make no difference$`},
		"slower": {"amp=off,bf16 channels-last=off,on", map[string]float64{"amp bf16": 0.5},
			`^leave all .*; amp bf16 would be 0\.[45]\dx of that; channels-last on makes no difference$`},
		"as good": {"amp=off,fp16,bf16 graph=off,on", map[string]float64{"amp fp16": 2, "amp bf16": 2},
			`^amp (fp16|bf16): .* of the baseline; amp (fp16|bf16) does as well; graph on makes no difference$`},
	} {
		choices := choose(t, c.axes)
		random := rand.New(rand.NewPCG(5, 6))
		require.Regexp(t, c.want, advise(madeUp(random, choices, 20, c.worth), choices).line(choices), name)
	}
}

func TestAdviceWithout(t *testing.T) {
	choices := choose(t, "tf32=off,on channels-last=off,on")
	for name, c := range map[string]struct {
		rounds int
		broken []int
		want   string
	}{
		"too few rounds":   {6, nil, "none: 6 rounds are too few to compare 4 settings: it takes 9"},
		"no baseline":      {20, []int{0}, "none: the baseline has no times"},
		"nothing but that": {20, []int{1, 2, 3}, "none: there is nothing to compare"},
		"one is missing":   {20, []int{3}, "leave all as it is: nothing here is faster for sure; tf32 on, channels-last on make no difference"},
		"none was run":     {0, nil, "none: the baseline has no times"},
	} {
		cells := madeUp(rand.New(rand.NewPCG(7, 8)), choices, c.rounds, nil)
		for _, i := range c.broken {
			cells[i].Failed = outOfMemory
		}
		require.Equal(t, c.want, advise(cells, choices).line(choices), name)
	}
}

// A cell that is fastest only by a noisy median does not hide one that is certainly
// faster.
func TestAdviceIsNotBlindedByNoise(t *testing.T) {
	choices := choose(t, "channels-last=off,on graph=off,on")
	settings, _ := combine(choices)
	cells := newCells(settings)
	for round := range 20 {
		noisy := []float64{1.5, 1.5, 9}[round%3]
		for i, took := range []float64{4, noisy, 3, 5} {
			cells[i].Seconds = append(cells[i].Seconds, took)
		}
	}
	a := advise(cells, choices)
	require.Equal(t, []string{"channels-last on"}, a.Changes)
	require.Equal(t, estimate{4. / 3, 4. / 3, 4. / 3}, a.Speed)
}

// The advice says so if a change in the best setting makes no difference that can be
// measured.
func TestAdviceDoubts(t *testing.T) {
	choices := choose(t, "channels-last=off,on graph=off,on")
	settings, _ := combine(choices)
	cells := newCells(settings)
	for round := range 20 {
		jitter := []float64{0, 1, 1, -1, 1, -1, 1}[round%7]
		for i, base := range []float64{4, 4, 2.2 + 0.3*jitter, 2} {
			cells[i].Seconds = append(cells[i].Seconds, base)
		}
	}
	require.Equal(t, "channels-last on, graph on: 2.00x (2.00..2.00) of the baseline; graph on may have no part in it",
		advise(cells, choices).line(choices))
}
