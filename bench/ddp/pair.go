package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/libtorch-go/libtorch/internal/talk"
)

// ranks of each side.
const ranks = 2

// network is where the ranks are: each in a namespace with one end of a link, or all on loopback.
type network struct {
	spaces []string
	device string
}

func parseNetwork(text string, rates []float64) (*network, error) {
	if text == "" {
		for _, rate := range rates {
			if rate != 0 {
				return nil, errors.New("loopback cannot be limited: -rates 0, or bench/ddp.sh with namespaces")
			}
		}
		return &network{}, nil
	}
	list := strings.Split(text, ",")
	if len(list) != ranks+1 {
		return nil, fmt.Errorf("-spaces is A,B,DEVICE, got %q", text)
	}
	return &network{list[:ranks], list[ranks]}, nil
}

// limit gives both directions a rate, in Mbit a second, with a queue of 50 ms.
func (n *network) limit(rate float64) error {
	for _, space := range n.spaces {
		rule := []string{"-n", space, "qdisc", "replace", "dev", n.device, "root"}
		if rate == 0 {
			rule = append(rule, "pfifo_fast")
		} else {
			rule = append(rule, "tbf", "rate", fmt.Sprintf("%gmbit", rate), "burst", "256k", "latency", "50ms")
		}
		if text, err := exec.Command("tc", rule...).CombinedOutput(); err != nil {
			return fmt.Errorf("tc %s: %w: %s", strings.Join(rule, " "), err, text)
		}
	}
	return nil
}

// command is a rank's, with what torchrun would tell it.
func (n *network) command(ctx context.Context, rank, port int, args []string) *exec.Cmd {
	host := "127.0.0.1"
	if n.spaces != nil {
		host = "10.77.0.1"
		args = append([]string{"ip", "netns", "exec", n.spaces[rank]}, args...)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "WORLD_SIZE="+strconv.Itoa(ranks), "MASTER_ADDR="+host,
		"RANK="+strconv.Itoa(rank), "LOCAL_RANK="+strconv.Itoa(rank), "MASTER_PORT="+strconv.Itoa(port))
	if n.device != "" {
		cmd.Env = append(cmd.Env, "GLOO_SOCKET_IFNAME="+n.device)
	}
	// Python's malloc keeps what it has, as ours does.
	cmd.Env = append(cmd.Env, "MALLOC_MMAP_THRESHOLD_=1073741824", "MALLOC_TRIM_THRESHOLD_=1073741824")
	return cmd
}

// pair is the ranks of one side.
type pair struct {
	name  string
	ranks []*talk.Partner
	stop  context.CancelFunc // of all, because the others wait for one that has failed
}

type sides []*pair

// startSides starts both sides' ranks, which stop ends. Those that it has started are returned with an error, too.
func startSides(ctx context.Context, stop context.CancelFunc, at *network) (all sides, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for _, side := range []struct {
		name string
		args []string
	}{{"Go", []string{self, "-serve"}}, {"Python", []string{*python, *script}}} {
		port, err := freePort()
		if err != nil {
			return all, err
		}
		p := &pair{name: side.name, stop: stop}
		all = append(all, p)
		for rank := range ranks {
			partner, err := talk.Start(fmt.Sprintf("%s's rank %d", side.name, rank), at.command(ctx, rank, port, side.args))
			if err != nil {
				return all, err
			}
			p.ranks = append(p.ranks, partner)
		}
	}
	return all, nil
}

// freePort is one of this machine's that nobody listens at.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s sides) close() {
	for _, p := range s {
		var all errgroup.Group
		for _, r := range p.ranks {
			all.Go(r.Close)
		}
		_ = all.Wait() // the measurement is over
	}
}

// ask asks some of the ranks at once. What the slowest says counts.
func (p *pair) ask(q question, count int) (slowest reply, err error) {
	q.Steps, q.Batch, q.Size = *steps, *batch, *size
	replies := make([]reply, count)
	var all errgroup.Group
	for i := range count {
		all.Go(func() error {
			err := p.ranks[i].Ask(q, &replies[i])
			if err == nil && replies[i].Error != "" {
				err = fmt.Errorf("%s's rank %d: %s: %s", p.name, i, q.Do, replies[i].Error)
			}
			if err != nil {
				p.stop()
			}
			return err
		})
	}
	err = all.Wait()
	slowest = replies[0]
	for _, r := range replies {
		if r.Seconds > slowest.Seconds {
			slowest = r
		}
	}
	return slowest, err
}

// round measures a side once.
func (p *pair) round() (row, error) {
	var solo, alone, step, exchange reply
	var err error
	for _, part := range []struct {
		do    string
		count int
		into  *reply
	}{{"alone", 1, &solo}, {"alone", ranks, &alone}, {"step", ranks, &step}, {"exchange", ranks, &exchange}} {
		if *part.into, err = p.ask(question{Do: part.do}, part.count); err != nil {
			return row{}, err
		}
	}
	return row{
		Side: p.name, Solo: solo.Seconds, Alone: alone.Seconds, Forward: alone.Forward, Backward: alone.Backward, Step: step.Seconds,
		Exchange: exchange.Seconds, First: step.First,
	}, nil
}
