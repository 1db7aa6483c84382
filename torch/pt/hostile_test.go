package pt

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/archive"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// Pieces of pickles.
const (
	proto   = "\x80\x02"
	rebuild = "ctorch._utils\n_rebuild_tensor_v2\n"
	ordered = "ccollections\nOrderedDict\n)R"
)

func text(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}
func num(n int64) string {
	return "\x8a\x08" + string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

// ref is a reference to a storage of floats.
func ref(key string, n int64) string { return refOf("ctorch\nFloatStorage\n", key, n) }

func refOf(class, key string, n int64) string {
	return "(" + text("storage") + class + text(key) + text("cpu") + num(n) + "tQ"
}

// tensor is the call that makes a tensor.
func tensor(storage string, offset int64, size, stride string) string {
	return rebuild + "(" + storage + num(offset) + size + stride + "\x89" + ordered + "tR"
}

// archived is a file with that pickle and a storage of 16 bytes.
func archived(pickle string) []byte {
	var b bytes.Buffer
	a := archive.NewWriter(&b, "archive")
	a.Text("data.pkl", proto+pickle+".")
	a.Text("byteorder", "little")
	a.Text("data/0", strings.Repeat("\x00\x00\x80\x3f", 4))
	a.Text("version", "3\n")
	if err := a.Finish(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// zipped is a file of Go's own archive/zip, whose headers edit may spoil.
func zipped(edit func(*zip.FileHeader), names ...string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		h := &zip.FileHeader{Name: name}
		if edit != nil {
			edit(h)
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(f, proto+"N.")
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// patched is a file with a number of 32 bits replaced behind the last place of a mark.
func patched(file []byte, mark string, offset int, n uint32) []byte {
	at := bytes.LastIndex(file, []byte(mark))
	binary.LittleEndian.PutUint32(file[at+offset:], n)
	return file
}

const central = "PK\x01\x02"

// hostileFile is a file that must be refused, with words of the error.
type hostileFile struct {
	file []byte
	want string
}

const far = 1 << 62

var good = tensor(ref("0", 4), 0, "K\x04\x85", "K\x01\x85")

var hostile = map[string]hostileFile{
	"empty":                {nil, "empty"},
	"no pickle":            {[]byte("GIF89a"), "begins as no file"},
	"a tar of PyTorch 0.1": {append(make([]byte, 257), "ustar  "...), "before version 0.2"},
	"os.system":            {archived("cos\nsystem\n" + text("echo") + "\x85R"), "needs os.system"},
	"posix.system":         {archived("\x8c\x05posix\x8c\x06system\x93" + text("echo") + "\x85R"), "needs posix.system"},
	"eval":                 {archived("c__builtin__\neval\n" + text("1") + "\x85R"), "needs builtins.eval"},
	"getattr of an allowed module": {archived("ctorch._utils\n_import_dotted_name\n" + text("os") + "\x85R"),
		"needs torch._utils._import_dotted_name"},
	"a whole model":               {archived("ctorch.nn.modules.linear\nLinear\n)\x81}b"), "save its state_dict()"},
	"call of a text":              {archived(text("x") + ")R"), "called, expected a class"},
	"call of a dtype":             {archived("ctorch\nfloat32\n)R"), "not to be called"},
	"a class alone":               {archived("ctorch\nTensor\n"), "stands by itself"},
	"a storage alone":             {archived(ref("0", 4)), "stands by itself"},
	"items set in a tensor":       {archived(good + "(K\x01K\x02u"), "items are set in it"},
	"items set in a list":         {archived("](K\x01K\x02u"), "items are set in a *pickle.List"},
	"items set in a tuple":        {archived(")K\x01K\x02s"), "items are set in a *pickle.Tuple"},
	"values appended to a tensor": {archived(good + "K\x01a"), "values are appended to it"},
	"values appended to a dict":   {archived("}K\x01a"), "values are appended to a *pickle.Dict"},
	"a tensor with a state":       {archived(good + "}b"), "built from a state"},
	"a dict with a state":         {archived("}}b"), "built from a state"},
	"storage longer than record":  {archived(tensor(ref("0", 5), 0, "K\x04\x85", "K\x01\x85")), `storage "0" has 20 bytes, its record 16`},
	"storage of far too many":     {archived(tensor(ref("0", far), 0, "K\x04\x85", "K\x01\x85")), "elements"},
	"storage of a negative size":  {archived(tensor(ref("0", -1), 0, "K\x04\x85", "K\x01\x85")), "elements"},
	"wider elements than record": {archived(tensor(refOf("ctorch\nDoubleStorage\n", "0", 4), 0, "K\x04\x85", "K\x01\x85")),
		"has 32 bytes, its record 16"},
	"storage that is not there": {archived(tensor(ref("1", 4), 0, "K\x04\x85", "K\x01\x85")), "no record of storage"},
	"storage by a path":         {archived(tensor(ref("../0", 4), 0, "K\x04\x85", "K\x01\x85")), "no record of storage"},
	"storage of no class": {archived(tensor(refOf("ctorch\nTensor\n", "0", 4), 0, "K\x04\x85", "K\x01\x85")),
		"a storage of class torch.Tensor"},
	"a reference that is a text": {archived(text("0") + "Q"), "not to a storage"},
	"tensor longer than storage": {archived(tensor(ref("0", 4), 0, "K\x05\x85", "K\x01\x85")), "reaches element 4 of a storage of 4"},
	"tensor behind storage":      {archived(tensor(ref("0", 4), 5, "K\x00\x85", "K\x01\x85")), "begins at element 5"},
	"negative offset":            {archived(tensor(ref("0", 4), -1, "K\x01\x85", "K\x01\x85")), "offset -1"},
	"negative size":              {archived(tensor(ref("0", 4), 0, num(-4)+"\x85", "K\x01\x85")), "impossible size"},
	"negative stride":            {archived(tensor(ref("0", 4), 3, "K\x02\x85", num(-1)+"\x85")), "negative stride"},
	"sizes that wrap":            {archived(tensor(ref("0", 4), 0, num(1<<32)+num(1<<32)+"\x86", "K\x00K\x00\x86")), "impossible size"},
	"strides that wrap":          {archived(tensor(ref("0", 4), 0, "K\x03\x85", num(far*2-1)+"\x85")), "larger than any memory"},
	"offset that wraps":          {archived(tensor(ref("0", 4), far*2-1, "K\x02\x85", "K\x01\x85")), "begins at element"},
	"more strides than sizes":    {archived(tensor(ref("0", 4), 0, "K\x01\x85", "K\x01K\x01\x86")), "a tensor of size"},
	"a size of texts":            {archived(tensor(ref("0", 4), 0, text("x")+"\x85", "K\x01\x85")), "expected a tuple of integers"},
	"too many dimensions": {archived(tensor(ref("0", 4), 0, "("+strings.Repeat("K\x01", 65)+"t",
		"("+strings.Repeat("K\x01", 65)+"t")), "a tensor of size"},
	"too few arguments":     {archived(rebuild + ")R"), "0 arguments, expected 6 to 7"},
	"a dtype that Go lacks": {archived("ctorch\nint4\n"), "torch.int4"},
	"meta of a wild size": {archived("ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\n" + num(far) +
		"\x85K\x01\x85\x89tR"), "impossible size"},
	"no value":                    {archived(""), "finds no value"},
	"no mark":                     {archived("t"), "finds no mark"},
	"value below the mark":        {archived("K\x01(0"), "finds no value"},
	"odd items":                   {archived("}(K\x01u"), "has no value"},
	"forgotten":                   {archived("h\x07"), "never remembered"},
	"a text longer than the file": {archived("X\xff\xff\xff\xff"), "longer than it can be"},
	"bytes longer than memory":    {archived("\x8e\xff\xff\xff\xff\xff\xff\xff\x7f"), "longer than it can be"},
	"opcode INST":                 {archived("(ios\nsystem\n"), "none of those that data needs"},
	"opcode EXT1":                 {archived("\x82\x01"), "none of those that data needs"},
	"opcode PERSID":               {archived("P0\n"), "none of those that data needs"},
	"protocol 6":                  {archived("\x80\x06N"), "protocol 6 is not known"},
	"something behind the pickle": {archived("N.N"), "follow the pickle"},
	"a list in itself":            {archived("]q\x00h\x00a"), "contains itself"},
	"a dict in itself":            {archived("}q\x00K\x01h\x00s"), "contains itself"},
	"a list as a key":             {archived("}]K\x01s"), "a key of a dict"},
	"lists 100,000 deep":          {archived(strings.Repeat("]", 100_000) + strings.Repeat("a", 99_999)), "deep within each other"},
	"tuples 100,000 deep":         {archived(")" + strings.Repeat("\x85", 100_000)), "deep within each other"},
	"a billion laughs in lists":   {archived("]q\x00" + laughs("](", "e")), "unfold to more than"},
	"a billion laughs in tuples":  {archived(")q\x00" + laughs("(", "t")), "unfold to more than"},
	"a million lists":             {archived(strings.Repeat("]", 1_000_000)), "too much memory"},
	"a long integer":              {archived("\x8b\x00\x00\x02\x00" + strings.Repeat("\x01", 1<<17)), "longer than it can be"},
	"bytes of no latin1":          {archived("c_codecs\nencode\n" + text("語") + text("latin1") + "\x86R"), "not in latin1"},
	"an encoding of one's own":    {archived("c_codecs\nencode\n" + text("x") + text("rot13") + "\x86R"), "expected latin1"},
	"COO indices outside":         {archived(sparse("torch.sparse_coo", 1e6)), "_rebuild_sparse_tensor"},
	"a deflated record":           {zipped(func(h *zip.FileHeader) { h.Method = zip.Deflate }, "a/data.pkl"), "is compressed"},
	"a symbolic link":             {zipped(func(h *zip.FileHeader) { h.SetMode(fs.ModeSymlink | 0o777) }, "a/data.pkl"), "symbolic link"},
	"a name with ..":              {zipped(nil, "a/data.pkl", "a/../../etc/passwd"), "leads out of the file"},
	"an absolute name":            {zipped(nil, "/a/data.pkl"), "leads out of the file"},
	"a name with a backslash":     {zipped(nil, `a\..\data.pkl`, "a/data.pkl"), "leads out of the file"},
	"a name of no folder":         {zipped(nil, "data.pkl"), "is in no folder"},
	"two records of a name":       {zipped(nil, "a/data.pkl", "a/data.pkl"), "two records"},
	"no data.pkl":                 {zipped(nil, "a/b"), "no data.pkl"},
	"TorchScript":                 {zipped(nil, "a/data.pkl", "a/constants.pkl"), "TorchScript"},
	"a record at another's place": {patched(zipped(nil, "a/data.pkl", "a/data/0"), central, 42, 0), "overlaps"},
	"a record far away":           {patched(zipped(nil, "a/data.pkl", "a/data/0"), central, 42, 1<<30), "would lie at byte"},
	"a record of another size":    {patched(zipped(nil, "a/data.pkl"), central, 24, 1<<30), "takes"},
	"a record of no header":       {patched(zipped(nil, "a/data.pkl"), central, 42, 1), "there is no record"},
	"a wild directory":            {patched(zipped(nil, "a/data.pkl"), "PK\x05\x06", 16, 1<<30), "its directory"},
	"a directory of many":         {patched(zipped(nil, "a/data.pkl"), "PK\x05\x06", 8, 0xffffffff), "its directory"},
	"a wild end":                  {patched(archived("N"), "PK\x06\x07", 8, 0xffffffff), "end of the zip file"},
	"cut off":                     {archived("N")[:500], "no end"},
	"an unknown byte order":       {bytes.ReplaceAll(archived("N"), []byte("little"), []byte("middle")), "byte order"},
	"legacy of another version":   {legacy("M\x01\x00.", "}.", "N.", "].", ""), "version 1"},
	"legacy without its storage":  {legacy(version, "}.", good+".", "].", ""), "1 storages are not in the file"},
	"legacy with another storage": {legacy(version, "}.", good+".", "]"+text("1")+"a.", ""), "listed and not used"},
	"legacy cut off": {legacy(version, "}.", good+".", "]"+text("0")+"a.", "\x04\x00\x00\x00\x00\x00\x00\x00"),
		"which the file has not"},
	"legacy of another count": {legacy(version, "}.", good+".", "]"+text("0")+"a.",
		"\x05\x00\x00\x00\x00\x00\x00\x00"+strings.Repeat("x", 16)), "which the file has not"},
	"legacy storage of two sizes": {legacy(version, "}.", "]"+good+"a"+tensor(ref("0", 3), 0, ")", ")")+"a.", "].", ""),
		"has 16 and 12 bytes"},
	"legacy view outside":           {legacy(version, "}.", tensor(viewRef(5), 0, ")", ")")+".", "].", ""), "lies outside"},
	"legacy with a tensor in front": {legacy(version, good+".", "N.", "].", "x"), "of none"},
}

const version = "M\xe9\x03."

// legacy is a file of before PyTorch 1.6, its pickles without their protocols.
func legacy(parts ...string) []byte {
	return []byte(proto + "\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + strings.Join(parts, ""))
}

// viewRef is a reference to a part of storage 0 that begins so far within it.
func viewRef(from byte) string {
	return "(" + text("storage") + "ctorch\nFloatStorage\n" + text("0") + text("cpu") + "K\x04(" + text("v") + "K" +
		string(rune(from)) + "K\x01ttQ"
}

// laughs nests containers of ten times the one before.
func laughs(open, end string) string {
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, "%s%s%sq%c", open, strings.Repeat("h"+string(rune(i)), 10), end, rune(i+1))
	}
	return b.String()
}

// sparse is a tensor of one element, far outside of its size.
func sparse(layout string, index int64) string {
	_ = index
	indices := tensor(refOf("ctorch\nLongStorage\n", "0", 2), 0, "K\x01K\x01\x86", "K\x01K\x01\x86")
	return "ctorch._utils\n_rebuild_sparse_tensor\n(ctorch.serialization\n_get_layout\n" + text(layout) + "\x85R(" + indices +
		tensor(ref("0", 4), 0, "K\x01\x85", "K\x01\x85") + "K\x03\x85tt" + "R"
}

func TestHostileFiles(t *testing.T) {
	torchtest.NoLeaks(t)
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			v, err := Read(bytes.NewReader(c.file), int64(len(c.file)))
			require.ErrorContains(t, err, c.want)
			require.Nil(t, v)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// A hostile file takes no more memory than twice its size and 64 MB.
func TestHostileFilesTakeNoMemory(t *testing.T) {
	for name, file := range map[string][]byte{
		"lists":   archived(strings.Repeat("]", 20<<20)),
		"dicts":   archived(strings.Repeat("}", 20<<20)),
		"tuples":  archived(strings.Repeat(")\x85", 10<<20)),
		"objects": archived(strings.Repeat("ccollections\nOrderedDict\n)R", 1<<20)),
		"memos":   archived("N" + strings.Repeat("\x94", 20<<20)),
		"items":   archived("}(" + strings.Repeat("K\x01N", 5<<20) + "u"),
		"marks":   archived(strings.Repeat("(", 20<<20)),
		"refs":    archived(strings.Repeat("NQ", 10<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			debug.FreeOSMemory()
			before := heap()
			_, err := Read(bytes.NewReader(file), int64(len(file)))
			require.Error(t, err)
			require.Less(t, heap()-before, uint64(2*len(file)+64<<20))
		})
	}
}

// heap is what Go's heap has of the system's memory, garbage included, since it was last given back.
func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys - m.HeapReleased
}

// What Options.Globals permits comes as data, and goes back as it came.
func TestGlobalsAsData(t *testing.T) {
	torchtest.NoLeaks(t)
	file := archived("cargparse\nNamespace\n)\x81}(" + text("lr") + "G\x3f\xb9\x99\x99\x99\x99\x99\x9aub")
	_, err := Read(bytes.NewReader(file), int64(len(file)))
	var global *GlobalError
	require.ErrorAs(t, err, &global)
	require.Equal(t, "argparse.Namespace", global.Name)
	require.ErrorContains(t, err, `LoadOptions{Globals: []string{"argparse.Namespace"}}`)
	v, err := Read(bytes.NewReader(file), int64(len(file)), LoadOptions{Globals: []string{"argparse.Namespace"}})
	require.NoError(t, err)
	o := v.(*Object)
	require.True(t, o.New)
	require.Equal(t, "argparse.Namespace", o.Class)
	require.Equal(t, 0.1, o.State.(*Dict).Float("lr"))
	var b bytes.Buffer
	require.NoError(t, Write(&b, v))
	again, err := Read(bytes.NewReader(b.Bytes()), int64(b.Len()), LoadOptions{Globals: []string{"argparse.Namespace"}})
	require.NoError(t, err)
	require.Equal(t, v, again)
}
