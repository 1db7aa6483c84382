package main

import (
	"errors"
	"flag"
	"io"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/libtorch-go/libtorch/internal/cli"
	"github.com/libtorch-go/libtorch/torch/cuda"
)

// options are what the command line says.
type options struct {
	minNodes, maxNodes int
	perNode            int // ranks on this machine
	backend            string
	host               string
	port               int
	id                 string
	nodeRank           int // for static rendezvous
	lastCall, patience time.Duration
	maxRestarts        int
	interval           time.Duration
	role               string
	logDir             string
	redirects, tee     streams
	shown              []int // local ranks whose output is shown; nil is all
	signals            []os.Signal
	program            []string
}

const intro = `usage: torchrun [FLAGS] PROGRAM [ARGUMENTS]

Starts --nproc-per-node ranks of the program and sets RANK, WORLD_SIZE, LOCAL_RANK,
MASTER_ADDR, MASTER_PORT and their like for each. Where a rank fails all are stopped, and
started anew up to --max-restarts times. Flags may be written with - or _, and be given by
the environment as PET_NAME, for example PET_NNODES.
`

// streams says for each local rank which of stdout (1) and stderr (2) something is done with; -1 is every rank.
type streams map[int]int

func (s streams) of(rank, stream int) bool {
	which, own := s[rank]
	if !own {
		which = s[-1]
	}
	return which&stream != 0
}

// parseStreams reads "3" or "0:1,1:2".
func parseStreams(text string) (streams, error) {
	s := streams{}
	for part := range strings.SplitSeq(text, ",") {
		rank, which, own := strings.Cut(part, ":")
		if !own {
			rank, which = "-1", part
		}
		r, wrongRank := strconv.Atoi(rank)
		w, wrong := strconv.Atoi(which)
		if err := errors.Join(wrongRank, wrong); err != nil || w < 0 || w > 3 {
			return nil, cli.Usagef("streams are 0 (none), 1 (stdout), 2 (stderr) or 3 (both), or RANK:STREAMS with commas between, got %q", text)
		}
		s[r] = w
	}
	return s, nil
}

// names are the flags with their defaults and what they mean.
var names = map[string][2]string{
	"nnodes":             {"1:1", "machines, or the least and the most of them: `MIN:MAX`"},
	"nproc-per-node":     {"1", "ranks on this machine: a `number`, or gpu, cpu, auto"},
	"rdzv-backend":       {"static", "how machines find each other: static (by --node-rank) or c10d"},
	"rdzv-endpoint":      {"", "`host:port` of the machine that serves the store of the rendezvous"},
	"rdzv-id":            {"none", "name of the job"},
	"rdzv-conf":          {"", "more for the rendezvous, `key=value` with commas between: last_call_timeout, join_timeout (seconds)"},
	"max-restarts":       {"0", "how often all ranks are started anew after one has failed"},
	"monitor-interval":   {"0.1", "seconds between two looks at the ranks"},
	"role":               {"default", "name of the ranks in prefixes"},
	"log-dir":            {"", "folder for the ranks' output: DIR/ID/attempt_N/RANK/stdout.log; default: a temporary one"},
	"redirects":          {"0", "streams that go to files in --log-dir: 1 stdout, 2 stderr, 3 both, or by rank: 0:1,1:2"},
	"tee":                {"0", "streams that go to files and to the console, each line with a prefix"},
	"local-ranks-filter": {"", "local ranks whose output is shown on the console, with commas between"},
	"node-rank":          {"0", "number of this machine, for static rendezvous"},
	"master-addr":        {"127.0.0.1", "address of machine 0, for static rendezvous"},
	"master-port":        {"29500", "port of machine 0, for static rendezvous"},
	"signals-to-handle":  {"SIGTERM,SIGINT,SIGHUP,SIGQUIT", "signals that stop the ranks"},
}

var signalsByName = map[string]syscall.Signal{
	"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT, "SIGHUP": syscall.SIGHUP, "SIGQUIT": syscall.SIGQUIT, "SIGUSR1": syscall.SIGUSR1,
	"SIGUSR2": syscall.SIGUSR2,
}

func parseFlags(args []string, out io.Writer) (*options, error) {
	fs := flag.NewFlagSet("torchrun", flag.ContinueOnError)
	v := map[string]*string{}
	for name, about := range names {
		value := about[0]
		if set := os.Getenv("PET_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))); set != "" {
			value = set
		}
		v[name] = fs.String(name, value, about[1])
	}
	fs.StringVar(v["redirects"], "r", *v["redirects"], "short for --redirects")
	fs.StringVar(v["tee"], "t", *v["tee"], "short for --tee")
	standalone := fs.Bool("standalone", os.Getenv("PET_STANDALONE") == "1", "one machine, on a free port")
	fs.Bool("no-python", true, "the program is run as it is: always so here")
	flags, program := split(fs, args)
	if err := cli.Parse(fs, flags, out, intro); err != nil {
		return nil, err
	}
	if len(program) == 0 {
		return nil, cli.Usagef("which program?")
	}
	o := &options{backend: *v["rdzv-backend"], id: *v["rdzv-id"], role: *v["role"], logDir: *v["log-dir"], program: program,
		lastCall: 30 * time.Second, patience: 10 * time.Minute}
	if *standalone {
		o.backend, *v["nnodes"], *v["rdzv-endpoint"] = "c10d", "1", "localhost:0"
	}
	return o, errors.Join(o.numbers(v), o.endpoint(v), o.conf(*v["rdzv-conf"]), o.output(v))
}

// split divides the command line into the flags, whose names get dashes, and the program with its own.
func split(fs *flag.FlagSet, args []string) (flags, program []string) {
	for i := 0; i < len(args); i++ {
		name, _, whole := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !strings.HasPrefix(args[i], "-") || args[i] == "--" {
			return flags, slices.DeleteFunc(args[i:], func(s string) bool { return s == "--" && args[i] == "--" })
		}
		flags = append(flags, strings.Replace(args[i], name, strings.ReplaceAll(name, "_", "-"), 1))
		f := fs.Lookup(strings.ReplaceAll(name, "_", "-"))
		if f == nil || whole {
			continue
		}
		if b, ok := f.Value.(interface{ IsBoolFlag() bool }); (!ok || !b.IsBoolFlag()) && i+1 < len(args) {
			i++
			flags = append(flags, args[i])
		}
	}
	return flags, nil
}

func (o *options) numbers(v map[string]*string) (err error) {
	number := func(name, text string, least int) int {
		n, wrong := strconv.Atoi(text)
		if wrong != nil || n < least {
			err = errors.Join(err, cli.Usagef("--%s is a number from %d on, got %q", name, least, text))
		}
		return n
	}
	from, to, both := strings.Cut(*v["nnodes"], ":")
	if !both {
		to = from
	}
	o.minNodes, o.maxNodes = number("nnodes", from, 1), number("nnodes", to, 1)
	if o.maxNodes < o.minNodes {
		err = errors.Join(err, cli.Usagef("--nnodes is MIN:MAX, got %s", *v["nnodes"]))
	}
	switch *v["nproc-per-node"] {
	case "gpu":
		o.perNode = cuda.DeviceCount()
	case "cpu":
		o.perNode = runtime.NumCPU()
	case "auto":
		if o.perNode = cuda.DeviceCount(); o.perNode == 0 {
			o.perNode = runtime.NumCPU()
		}
	default:
		o.perNode = number("nproc-per-node", *v["nproc-per-node"], 1)
	}
	if o.perNode == 0 {
		err = errors.Join(err, cli.Usagef("there is no GPU here for --nproc-per-node gpu"))
	}
	o.maxRestarts = number("max-restarts", *v["max-restarts"], 0)
	o.nodeRank = number("node-rank", *v["node-rank"], 0)
	seconds, wrong := strconv.ParseFloat(*v["monitor-interval"], 64)
	if wrong != nil || seconds <= 0 {
		err = errors.Join(err, cli.Usagef("--monitor-interval is a number of seconds, got %q", *v["monitor-interval"]))
	}
	o.interval = time.Duration(seconds * float64(time.Second))
	return err
}

func (o *options) endpoint(v map[string]*string) error {
	at := *v["rdzv-endpoint"]
	switch {
	case o.backend != "static" && o.backend != "c10d":
		return cli.Usagef("--rdzv-backend is static or c10d, got %q", o.backend)
	case o.backend == "static" && o.minNodes != o.maxNodes:
		return cli.Usagef("static rendezvous has a fixed number of machines, got --nnodes %d:%d", o.minNodes, o.maxNodes)
	case o.backend == "static" && o.nodeRank >= o.maxNodes:
		return cli.Usagef("--node-rank is from 0 to %d, got %d", o.maxNodes-1, o.nodeRank)
	case o.backend == "static" && at == "":
		at = net.JoinHostPort(*v["master-addr"], *v["master-port"])
	case at == "" && o.maxNodes == 1:
		at = "localhost:0"
	case at == "":
		return cli.Usagef("--rdzv-backend c10d with several machines needs --rdzv-endpoint host:port")
	case !strings.Contains(at, ":"):
		at += ":29400"
	}
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return cli.Usagef("--rdzv-endpoint: %w", err)
	}
	o.host = host
	if o.port, err = strconv.Atoi(port); err != nil {
		return cli.Usagef("--rdzv-endpoint: the port %q is no number", port)
	}
	return nil
}

func (o *options) conf(text string) error {
	known := map[string]*time.Duration{"last_call_timeout": &o.lastCall, "join_timeout": &o.patience, "timeout": &o.patience}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		seconds, err := strconv.ParseFloat(value, 64)
		switch {
		case part == "" || key == "is_host" || key == "read_timeout" || key == "store_type":
		case known[key] == nil || err != nil:
			return cli.Usagef("--rdzv-conf has %v=SECONDS, got %q", slices.Sorted(maps.Keys(known)), part)
		default:
			*known[key] = time.Duration(seconds * float64(time.Second))
		}
	}
	return nil
}

func (o *options) output(v map[string]*string) (err error) {
	if o.redirects, err = parseStreams(*v["redirects"]); err != nil {
		return err
	}
	if o.tee, err = parseStreams(*v["tee"]); err != nil {
		return err
	}
	for part := range strings.FieldsFuncSeq(*v["local-ranks-filter"], func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return cli.Usagef("--local-ranks-filter is a list of numbers, got %q", *v["local-ranks-filter"])
		}
		o.shown = append(o.shown, n)
	}
	for part := range strings.SplitSeq(*v["signals-to-handle"], ",") {
		s, known := signalsByName[part]
		if !known {
			return cli.Usagef("--signals-to-handle knows %v, got %q", slices.Sorted(maps.Keys(signalsByName)), part)
		}
		o.signals = append(o.signals, s)
	}
	return nil
}
