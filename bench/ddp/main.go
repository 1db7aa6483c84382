// Command ddp measures what exchanging gradients costs two ranks that train ResNet-18 on noise with DistributedDataParallel, ours and
// Python's: how much faster two are than one, and how much of the exchange hides behind the backward pass, at some rates of the network
// between them. bench/ddp.sh starts it and makes that network.
//
// Both sides' ranks are processes that stay warm and take turns: pair.go starts and asks them, rank.go is one of ours and
// bench/python/ddp.py one of Python's. report.go prints the table, with what docs/scaling.md's model says beside what was measured.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/libtorch-go/libtorch/internal/pace"
)

var (
	serve   = flag.Bool("serve", false, "be a rank, which answers on standard output what it is asked on standard input")
	table   = flag.String("report", "", "print the table of this `file` of results")
	steps   = flag.Int("steps", 3, "`steps` of a round")
	rounds  = flag.Int("rounds", 3, "rounds, of which the medians count")
	batch   = flag.Int("b", 16, "images in a batch of one rank")
	size    = flag.Int("size", 128, "height and width of an image")
	buckets = flag.String("buckets", "25 5", "`MB` of a bucket; 25 is the default of both sides")
	rates   = flag.String("rates", "0 1000", "`Mbit` a second of the network; 0 is not limited")
	budget  = flag.Duration("for", 8*time.Minute, "time after which no round begins")
	results = flag.String("results", "", "`folder` for the results; default: they are not kept")
	python  = flag.String("python", "third_party/peer/python", "a Python with torch and torchvision")
	script  = flag.String("script", "bench/python/ddp.py", "Python's rank")
	spaces  = flag.String("spaces", "", "network namespaces of the ranks and the device that joins them: `A,B,DEVICE`; default: loopback")
)

// row is what one side did in a round: seconds, of a step where it is not said otherwise.
type row struct {
	Side              string
	Round             int
	Rate, Bucket      float64 // Mbit/s, MB
	Last              int     // bytes of the last bucket
	Solo              float64 // of one rank, while the other waits
	Alone             float64 // of both ranks, which exchange nothing
	Forward, Backward float64 // their parts
	Step              float64 // of both, with the exchange
	Exchange          float64 // all gradients by themselves
	First             float64 // from the beginning of the backward pass until the first bucket is full
}

// measured is the file of results.
type measured struct {
	Machine     string
	Cores       int
	Load        string // averages, before and after
	Date        string
	Batch, Size int
	Steps       int
	Bytes       int // of all gradients
	Rows        []row
}

func main() {
	flag.Parse()
	work := measure
	switch {
	case *serve:
		work = answer
	case *table != "":
		work = func() error { return reportFile(*table) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "ddp:", err)
		os.Exit(1)
	}
}

func numbers(text string) (list []float64, err error) {
	for word := range strings.FieldsSeq(text) {
		n, wrong := strconv.ParseFloat(word, 64)
		list, err = append(list, n), errors.Join(err, wrong)
	}
	return list, err
}

// measure goes through all buckets, rounds and rates, and prints and keeps what it has found, also if the time did not do for all.
func measure() error {
	bucketList, wrong := numbers(*buckets)
	rateList, err := numbers(*rates)
	if err := errors.Join(wrong, err); err != nil {
		return err
	}
	net, err := parseNetwork(*spaces, rateList)
	if err != nil {
		return err
	}
	began := time.Now()
	ctx, stop := context.WithTimeout(context.Background(), *budget+time.Minute)
	defer stop()
	m := newMeasured(began)
	sides, err := startSides(ctx, stop, net)
	defer sides.close()
	if err != nil {
		return err
	}
	share := *budget / time.Duration(len(bucketList))
	for i, bucket := range bucketList {
		until := began.Add(share * time.Duration(i+1))
		if err := sides.bucket(m, net, bucket, rateList, until); err != nil {
			return err
		}
	}
	m.Load += ", after " + load()
	report(m)
	fmt.Printf("\nit took %v\n", time.Since(began).Round(time.Second))
	return m.keep(*results)
}

// bucket measures all rates with buckets of one size. One round is made, and others as long as there is time.
func (s sides) bucket(m *measured, net *network, bucket float64, rates []float64, until time.Time) error {
	if err := net.limit(0); err != nil {
		return err
	}
	last := 0
	for _, p := range s {
		made, err := p.ask(question{Do: "make", Bucket: bucket}, ranks)
		if err != nil {
			return err
		}
		m.Bytes, last = made.Bytes, made.Last
	}
	for round := range *rounds {
		began := time.Now()
		for _, rate := range rates {
			if err := net.limit(rate); err != nil {
				return err
			}
			for _, p := range pace.Turn(s, round) {
				r, err := p.round()
				if err != nil {
					return err
				}
				r.Round, r.Rate, r.Bucket, r.Last = round, rate, bucket, last
				m.Rows = append(m.Rows, r)
			}
		}
		if next := time.Now().Add(time.Since(began)); next.After(until) && round+1 < *rounds {
			fmt.Printf("buckets of %v MB: the time did for %d of %d rounds\n", bucket, round+1, *rounds)
			break
		}
	}
	return nil
}
