package tensorboard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libtorch-go/libtorch/internal/option"
)

// Options are the rarer arguments of [NewWriter].
type Options struct {
	Suffix string           // at the end of the file's name
	Clock  func() time.Time // the times of events; default [time.Now]
}

// Writer writes the events of one run.
type Writer struct {
	dir   string
	clock func() time.Time

	mu     sync.Mutex
	file   *os.File
	closed bool
	failed error
}

// made counts the writers of this process, whose files need names of their own.
var made atomic.Int64

// NewWriter makes a writer, the folder and a file in it. TensorBoard shows the files of one folder as one run, by the folder's name.
func NewWriter(dir string, opts ...Options) (*Writer, error) {
	o := option.One(opts)
	w := &Writer{dir: dir, clock: o.Clock}
	if w.clock == nil {
		w.clock = time.Now
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("tensorboard: cannot make the folder of a run: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	name := fmt.Sprintf("events.out.tfevents.%010d.%s.%d.%d%s", w.clock().Unix(), host, os.Getpid(), made.Add(1)-1, o.Suffix)
	w.file, err = os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, fmt.Errorf("tensorboard: cannot begin a run: %w", err)
	}
	if err := w.put(func(event *message) { event.text(3, "brain.Event:2") }); err != nil {
		_ = w.file.Close()
		return nil, err
	}
	return w, nil
}

// Path is the file's name.
func (w *Writer) Path() string { return w.file.Name() }

// Close ends the file. It returns the first error of the writer's life, also when it is called again.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.failed
	}
	w.closed = true
	if err := w.file.Close(); err != nil && w.failed == nil {
		w.failed = fmt.Errorf("tensorboard: cannot end a run: %w", err)
	}
	return w.failed
}

// put writes an event, of which fill sets all but the time.
func (w *Writer) put(fill func(event *message)) error {
	var event message
	event.double(1, float64(w.clock().UnixNano())/1e9)
	fill(&event)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	if _, err := w.file.Write(record(event)); err != nil {
		w.failed = fmt.Errorf("tensorboard: cannot write an event: %w", err)
	}
	return w.failed
}

// record frames an event: its length, that number's check sum, the event and its check sum.
func record(event message) []byte {
	framed := binary.LittleEndian.AppendUint64(make([]byte, 0, len(event)+16), uint64(len(event)))
	framed = binary.LittleEndian.AppendUint32(framed, masked(framed))
	framed = append(framed, event...)
	return binary.LittleEndian.AppendUint32(framed, masked(event))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the check sum of TensorFlow's records: CRC-32C, turned and moved, so that one of data with check sums in them is no
// regular value.
func masked(data []byte) uint32 {
	sum := crc32.Checksum(data, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}
