package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/home"
	"github.com/libtorch-go/libtorch/internal/pace"
)

// contender is one of those that compute the same network.
type contender struct {
	name, dtype string
	process     string // those of one name are in one process
	asked       string // what the process calls it
}

const oursName, eagerName, compileName = "ours", "Python", "torch.compile"

var contenders = []contender{
	{oursName, "float32", "ours", oursIn("float32")},
	{eagerName, "float32", "Python", "Python"},
	{compileName, "float32", "torch.compile", "torch.compile"},
	{"AOTInductor", "float32", "AOTInductor", "AOTInductor"},
	{"ONNX Runtime", "float32", "ONNX Runtime", "ONNX Runtime"},
	{"OpenVINO", "float32", "OpenVINO", "OpenVINO"},
	{oursName, "bfloat16", "ours", oursIn("bfloat16")},
	{eagerName, "bfloat16", "Python", "Python bfloat16"},
	{compileName, "bfloat16", "torch.compile", "torch.compile bfloat16"},
	{"OpenVINO", "bfloat16", "OpenVINO", "OpenVINO bfloat16"},
	{oursName, boundedDType, "ours", oursIn(boundedDType)},
	{oursName, "int8", "ours", oursIn("int8")},
	{"ONNX Runtime", "int8", "ONNX Runtime", "ONNX Runtime int8"},
	{"OpenVINO", "int8", "OpenVINO", "OpenVINO int8"},
}

// cardContenders are those that compute it on a card; the compiler makes graphs of CUDA's there.
var cardContenders = append(slices.Clone(contenders[:3]), []contender{
	{oursName, "float16", "ours", oursIn("float16")},
	{eagerName, "float16", "Python", "Python float16"},
	{compileName, "float16", "torch.compile", "torch.compile float16"},
}...)

// otherContenders are those that compute other networks: torch.compile and AOTInductor would compile for an hour.
var otherContenders = slices.Concat(contenders[:2], contenders[4:6])

// narrowContenders compute networks whose time is that in which weights come from memory.
var narrowContenders = []contender{
	{oursName, halfWeights, "ours", oursIn(halfWeights)},
	{oursName, wholeWeights, "ours", oursIn(wholeWeights)},
}

// contest is one network's measurement.
type contest struct {
	*maker
	network
	who     []contender
	card    bool
	threads int
	dir     string // with the network's files
	crew    pace.Crew[*side]
	taken   map[contender]*timing
	rows    map[contender]*result
}

// result is what one contender did. Times are nanoseconds for one run.
type result struct {
	Network   string  `json:"network"`
	Contender string  `json:"contender"`
	DType     string  `json:"dtype"`
	Threads   int     `json:"threads"`
	Why       string  `json:"why,omitempty"` // it was not measured
	Error     float64 `json:"error"`         // the largest difference from Python's result, relative to its largest number
	figures
}

// programs measures all networks, one after the other; the contenders take turns, round by round.
func (m *maker) programs(r *report, o options) error {
	who, list := contenders, networks
	if o.others {
		who, list = otherContenders, otherNetworks
	}
	if o.card {
		who = cardContenders
	} else if _, err := os.Stat(m.rivals()); err != nil {
		return fmt.Errorf("bench: %w; ./build.sh rivals fetches ONNX Runtime and OpenVINO", err)
	}
	dir, err := m.kept(o)
	if err != nil {
		return err
	}
	for _, n := range list {
		if !o.only.MatchString(n.name) {
			continue
		}
		who := who
		if n.name == tokenNetwork {
			who = slices.Concat(who, narrowContenders)
		}
		c := &contest{maker: m, network: n, who: who, card: o.card, threads: o.threads[0], dir: n.folder(dir), taken: map[contender]*timing{},
			rows: map[contender]*result{}}
		if o.card {
			c.n *= timesOnCard
		}
		err := errors.Join(c.hold(o.rounds), c.crew.Close())
		if err != nil {
			return err
		}
		for _, who := range who {
			r.Programs = append(r.Programs, *c.rows[who])
		}
	}
	if len(r.Programs) == 0 {
		return fmt.Errorf("bench: -run %v is no network; there are %v", o.only, names(list))
	}
	return nil
}

// timesOnCard is how many times as often a network is run in a round on a card.
const timesOnCard = 20

func (m *maker) rivals() string { return filepath.Join(m.home, "rivals") }

// kept is a folder for what is made once: networks in the formats of all, and what Python's compilers make of them.
func (m *maker) kept(o options) (string, error) {
	cache, err := home.Cache()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	files := []string{filepath.Join(m.scripts, "networks.py"), filepath.Join(m.scripts, "programs.py"),
		filepath.Join(m.home, "lib", "version.txt")}
	if !o.card {
		files = append(files, filepath.Join(m.rivals(), ".wheels"))
	}
	if o.others {
		files = append(files, filepath.Join(m.scripts, "others.py"))
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		h.Write(text)
	}
	return filepath.Join(cache, "bench-programs", hex.EncodeToString(h.Sum(nil)[:8])), nil
}

// hold makes the network, compares what all compute, and measures.
func (c *contest) hold(rounds int) error {
	if err := c.write(); err != nil {
		return err
	}
	var list []contender
	var want []float64
	for _, who := range slices.Concat(c.who[1:2], c.who[:1], c.who[2:]) { // Python's result first
		progress(fmt.Sprintf("%s: %s in %s gets ready", c.name, who.name, who.dtype))
		row := &result{Network: c.name, Contender: who.name, DType: who.dtype, Threads: c.threads}
		c.rows[who] = row
		got, err := c.check(who)
		needed := (who.name == oursName || who.name == eagerName) &&
			!strings.Contains(who.dtype, "float16") // for which some processors have no instructions, and some numbers are too large
		switch {
		case err != nil && !needed:
			row.Why = lastLine(err.Error())
			continue
		case err != nil:
			return err
		case want == nil:
			want = got
		}
		row.Error = apart(got, want)
		if most := c.allowed(who); !(row.Error <= most) {
			err := fmt.Errorf("bench: %s: %s in %s computes something else than Python: relative error %g", c.name, who.name, who.dtype, row.Error)
			if needed {
				return err
			}
			row.Why, row.Error = err.Error(), 0 // JSON has no word for what is not a number
			continue
		}
		list, c.taken[who] = append(list, who), &timing{}
	}
	err := pace.Rounds(1, rounds, func(i int) error {
		progress(fmt.Sprintf("%s, round %d of %d", c.name, max(0, i+1), rounds))
		return c.round(list, i)
	})
	if err != nil {
		return err
	}
	for _, who := range list {
		c.rows[who].figures = summarise(*c.taken[who])
	}
	return nil
}

// allowed is how far a result may be from Python's: in float32 ours as far as rounding goes, others until they are taken for another
// network's. Weights are drawn by chance, of which bfloat16 leaves less than of those that have learned (Python's own is a twentieth
// apart), and int8 little: what that does to a network that has learned is for TestPhotos of torch/export to say.
// On a card float32 is TF32 in convolutions, as Python has it.
func (c *contest) allowed(who contender) float64 {
	switch who.dtype {
	case "float32":
		if c.card {
			return 1e-2
		}
		if who.name == oursName {
			return 1e-5
		}
		return 1e-4
	case boundedDType, halfWeights, wholeWeights:
		return 0.01
	case "bfloat16", "float16":
		return 0.1
	}
	return 1
}

// write has Python write the network in all formats, unless an earlier run has.
func (c *contest) write() error {
	done := filepath.Join(c.dir, "done")
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	progress(c.name + ": Python exports it")
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	s, err := c.start("writer")
	if err != nil {
		return err
	}
	_, err = s.ask(request{Cmd: "write", Case: c.name, File: c.dir})
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o644)
}

// start starts the process of that name; all compute with as many threads.
func (c *contest) start(process string) (*side, error) {
	env := []string{fmt.Sprint("OMP_NUM_THREADS=", c.threads), fmt.Sprint("MKL_NUM_THREADS=", c.threads)}
	if c.card {
		env = append(env, deviceVariable+"="+cardDevice().String())
	}
	if process == "ours" {
		return start(process, env, c.self, "-serve")
	}
	path := c.maker.rivals()
	if more := os.Getenv("PYTHONPATH"); more != "" {
		path += string(os.PathListSeparator) + more
	}
	env = append(env, "PYTHONPATH="+path, "TORCHINDUCTOR_CACHE_DIR="+filepath.Join(c.dir, "inductor"), "PYTHONWARNINGS=ignore")
	return start(process, env, c.python, filepath.Join(c.scripts, "programs.py"))
}

// process is where a contender runs.
func (c *contest) process(who contender) (*side, error) {
	return c.crew.Get(who.process, func() (*side, error) {
		s, err := c.start(who.process)
		if err != nil {
			return nil, err
		}
		if _, err := s.ask(request{Cmd: "load", File: c.dir}); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	})
}

// check is the network's result with a contender.
func (c *contest) check(who contender) (values []float64, err error) {
	s, err := c.process(who)
	if err != nil {
		return nil, err
	}
	const patience = 10 * time.Minute // compilers that destroy their heap may as well never end
	late := time.AfterFunc(patience, s.Kill)
	defer late.Stop()
	r, err := s.ask(request{Cmd: "check", Case: who.asked})
	if err != nil {
		return nil, err
	}
	for word := range strings.FieldsSeq(r.Result) {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// rest is how long the threads of the contender before may look for more work, on processors that the next one wants.
const rest = 50 * time.Millisecond

func (c *contest) round(list []contender, i int) error {
	for _, who := range pace.Turn(list, i) {
		s, err := c.process(who)
		if err != nil {
			return err
		}
		if c.threads > 1 {
			time.Sleep(rest)
		}
		r, err := s.ask(request{Cmd: "run", Case: who.asked, Threads: c.threads, N: c.n})
		if err != nil {
			return err
		}
		if i >= 0 {
			took := c.taken[who]
			took.wall, took.cpu = append(took.wall, r.Wall/float64(c.n)), append(took.cpu, r.CPU/float64(c.n))
		}
	}
	return nil
}

// apart is the largest difference between two results, relative to the largest number of the second; not a number if their sizes differ.
func apart(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.NaN()
	}
	var most, largest float64
	for i, w := range want {
		most, largest = max(most, math.Abs(got[i]-w)), max(largest, math.Abs(w))
	}
	return most / largest
}

// lastLine is what Python says at the end of a trace.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// printPrograms writes the tables of programs as Markdown: times, and ratios to ours.
func (r *report) printPrograms(w io.Writer) {
	names, dtypes, rivals := []string{oursName, eagerName, compileName, "AOTInductor", "ONNX Runtime", "OpenVINO"}, programDTypes,
		[]string{"ONNX Runtime", "OpenVINO"}
	if slices.ContainsFunc(r.Programs, func(row result) bool { return row.DType == "float16" }) { // on a card
		names, dtypes, rivals = names[:3], []string{"float32", "float16"}, []string{compileName}
	}
	best := strings.Join(rivals, " or ")
	fmt.Fprintf(w, "\n| network | dtype | %s | Python / ours | %s / ours, wall min | wall p25 | CPU min | off by: ours, Python, %s |\n%s\n",
		strings.Join(names, " | "), best, strings.Join(rivals, ", "), "|---|---|"+strings.Repeat("---|", len(names)+5))
	for _, n := range slices.Concat(networks, otherNetworks) {
		for _, dtype := range dtypes {
			rows := map[string]result{}
			for _, row := range r.Programs {
				if row.Network == n.name && row.DType == dtype {
					rows[row.Contender] = row
				}
			}
			if rows[oursName].WallMin > 0 {
				r.printRow(w, n, dtype, rows, names, rivals)
			}
		}
	}
	for _, row := range r.Programs {
		if row.Why != "" {
			fmt.Fprintf(w, "\n%s, %s in %s was not measured: %s\n", row.Network, row.Contender, row.DType, row.Why)
		}
	}
}

// printRow writes what all took for a network in a dtype.
func (r *report) printRow(w io.Writer, n network, dtype string, rows map[string]result, names, rivals []string) {
	cells := []string{n.name, dtype}
	for _, name := range names {
		cells = append(cells, cell(rows[name].WallMin, duration))
	}
	eager := slices.IndexFunc(r.Programs, func(row result) bool { return row.Network == n.name && row.Contender == eagerName })
	ours := rows[oursName].figures
	cells = append(cells, cell(r.Programs[eager].WallMin/ours.WallMin, times2))
	best, off := figures{}, []string{rows[oursName].off(), rows[eagerName].off()}
	for _, name := range rivals {
		best, off = better(best, rows[name].figures), append(off, rows[name].off())
	}
	best = best.over(ours)
	for _, v := range []float64{best.WallMin, best.WallP25, best.CPUMin} {
		cells = append(cells, cell(v, times2))
	}
	fmt.Fprintf(w, "| %s |\n", strings.Join(append(cells, strings.Join(off, ", ")), " | "))
}

// off is what a result differs from Python's by, where it was measured.
func (r result) off() string {
	if r.WallMin == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2g", r.Error)
}

// better are the lower figures of two that were measured.
func better(a, b figures) figures {
	low := func(a, b float64) float64 {
		if a == 0 || b == 0 {
			return a + b
		}
		return min(a, b)
	}
	return figures{low(a.WallMin, b.WallMin), low(a.WallP25, b.WallP25), low(a.CPUMin, b.CPUMin), low(a.CPUP25, b.CPUP25)}
}

func cell(v float64, print func(float64) string) string {
	if v == 0 {
		return ""
	}
	return print(v)
}

func times2(v float64) string { return fmt.Sprintf("%.2fx", v) }
