package dist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// DeviceMesh arranges the processes in a grid of some dimensions, each with a name, such as "dp" for data and "tp" for tensors. Along each
// dimension there is a group of the processes that differ in that coordinate alone. [InitDeviceMesh] makes one.
type DeviceMesh struct {
	world  *Group
	total  int       // processes in the whole mesh
	dims   []meshDim // of this part of it
	groups *[]*Group // that were made for the whole mesh
}

type meshDim struct {
	name    string
	offsets []int // of the ranks along it, from the first
	at      int   // this rank's coordinate, -1 if it is not in the mesh
	group   *Group
}

// InitDeviceMesh arranges the ranks of g, the group of all processes, in row-major order, and makes the groups of each dimension. All
// processes call it, with the same shape and names. If the mesh is smaller than g, the last ranks are not in it.
//
//	mesh, err := dist.InitDeviceMesh(ctx, g, []int{2, 4}, "dp", "tp")
//	…
//	err = mesh.Group("tp").AllReduce(x).Wait(ctx)
func InitDeviceMesh(ctx context.Context, g *Group, shape []int, names ...string) (*DeviceMesh, error) {
	if g != g.world.group {
		return nil, errors.New("dist: a mesh is made of the group of all processes")
	}
	if len(shape) == 0 || len(shape) != len(names) {
		return nil, fmt.Errorf("dist: a mesh has a name for each dimension, got the shape %v and the names %q", shape, names)
	}
	m := &DeviceMesh{world: g, total: 1, groups: new([]*Group)}
	for i, size := range shape {
		if size < 1 || size > g.Size()/m.total {
			return nil, fmt.Errorf("dist: a mesh has at most as many places as there are processes, %d, got the shape %v", g.Size(), shape)
		}
		if slices.Contains(names[:i], names[i]) {
			return nil, fmt.Errorf("dist: the dimensions of a mesh have different names, got %q", names)
		}
		m.total *= size
	}
	stride := m.total
	for i, size := range shape {
		stride /= size
		offsets := make([]int, size)
		for k := range offsets {
			offsets[k] = k * stride
		}
		if err := m.add(ctx, names[i], offsets); err != nil {
			m.Close()
			return nil, err
		}
	}
	return m, nil
}

// add makes the groups of a dimension: of the lowest rank that has none yet and those behind it, and so on.
func (m *DeviceMesh) add(ctx context.Context, name string, offsets []int) error {
	d := meshDim{name: name, offsets: offsets, at: -1, group: m.world}
	if len(offsets) == m.world.Size() {
		d.at = m.world.rank
		m.dims = append(m.dims, d)
		return nil
	}
	seen := make([]bool, m.total)
	for first := range m.total {
		if seen[first] {
			continue
		}
		ranks := make([]int, len(offsets))
		for i, offset := range offsets {
			ranks[i] = first + offset
			seen[ranks[i]] = true
		}
		g, err := m.world.NewGroup(ctx, ranks...)
		if err != nil {
			return err
		}
		*m.groups = append(*m.groups, g)
		if d.at < 0 { // a process outside of the mesh keeps a group that it is no member of
			d.at, d.group = g.rank, g
		}
	}
	m.dims = append(m.dims, d)
	return nil
}

// dim finds a dimension by its name; without one it is the only one.
func (m *DeviceMesh) dim(names []string) meshDim {
	if len(names) == 0 && len(m.dims) == 1 {
		return m.dims[0]
	}
	if len(names) == 1 {
		for _, d := range m.dims {
			if d.name == names[0] {
				return d
			}
		}
	}
	torch.Throw("device_mesh", torch.KindValue, "%q does not name one of the dimensions %q", names, m.DimNames())
	return meshDim{}
}

// Group is that of the processes along a dimension, to which this one belongs. A mesh of one dimension needs no name.
func (m *DeviceMesh) Group(dim ...string) *Group { return m.dim(dim).group }

// LocalRank is this process's coordinate along a dimension: its rank in that group. A mesh of one dimension needs no name.
func (m *DeviceMesh) LocalRank(dim ...string) int { return m.dim(dim).at }

// Size is the length of a dimension, or, without one, the number of processes in the mesh.
func (m *DeviceMesh) Size(dim ...string) int {
	if len(dim) > 0 {
		return len(m.dim(dim).offsets)
	}
	n := 1
	for _, size := range m.Shape() {
		n *= size
	}
	return n
}

// Shape are the lengths of the dimensions.
func (m *DeviceMesh) Shape() []int {
	shape := make([]int, len(m.dims))
	for i, d := range m.dims {
		shape[i] = len(d.offsets)
	}
	return shape
}

// DimNames are the names of the dimensions.
func (m *DeviceMesh) DimNames() []string {
	names := make([]string, len(m.dims))
	for i, d := range m.dims {
		names[i] = d.name
	}
	return names
}

// Coordinate is where this process is in the mesh; nil if it is not in it.
func (m *DeviceMesh) Coordinate() []int {
	at := make([]int, len(m.dims))
	for i, d := range m.dims {
		if at[i] = d.at; d.at < 0 {
			return nil
		}
	}
	return at
}

// Mesh are the ranks in their places, as int32: those of the part that this process is in.
func (m *DeviceMesh) Mesh() torch.Tensor {
	first := m.world.rank
	for _, d := range m.dims {
		if d.at < 0 {
			first = 0
			break
		}
		first -= d.offsets[d.at]
	}
	var list []int32
	for _, offset := range m.offsets() {
		list = append(list, int32(first+offset))
	}
	return torch.FromSlice(list, m.Shape()...)
}

// offsets are those of all ranks in the part of the mesh, in row-major order.
func (m *DeviceMesh) offsets() []int {
	all := []int{0}
	for _, d := range m.dims {
		var longer []int
		for _, base := range all {
			for _, offset := range d.offsets {
				longer = append(longer, base+offset)
			}
		}
		all = longer
	}
	return all
}

// Sub is the part of the mesh along some of its dimensions, in their order, that this process is in: Python's mesh["dp", "tp"]. It shares
// the groups.
func (m *DeviceMesh) Sub(names ...string) *DeviceMesh {
	part := *m
	part.dims = nil
	for _, d := range m.dims {
		if len(part.dims) < len(names) && d.name == names[len(part.dims)] {
			part.dims = append(part.dims, d)
		}
	}
	if len(names) == 0 || len(part.dims) < len(names) {
		torch.Throw("device_mesh", torch.KindValue, "%q are not dimensions of the mesh in their order, which is %q", names, m.DimNames())
	}
	return &part
}

// Flatten makes a mesh of one dimension of that name, with a group for all processes of this part. All processes call it.
//
//	all, err := mesh.Sub("dp", "cp").Flatten(ctx, "dp_cp")
func (m *DeviceMesh) Flatten(ctx context.Context, name string) (*DeviceMesh, error) {
	flat := *m
	flat.dims = nil
	if err := flat.add(ctx, name, m.offsets()); err != nil {
		return nil, err
	}
	return &flat, nil
}

// String shows names and lengths: "DeviceMesh((dp=2, tp=4))".
func (m *DeviceMesh) String() string {
	var text []string
	for _, d := range m.dims {
		text = append(text, fmt.Sprintf("%s=%d", d.name, len(d.offsets)))
	}
	return "DeviceMesh((" + strings.Join(text, ", ") + "))"
}

// Close leaves the groups of the whole mesh, also of those that were made from it; the group of all processes stays.
func (m *DeviceMesh) Close() {
	for _, g := range *m.groups {
		g.Close()
	}
	*m.groups = nil
}
