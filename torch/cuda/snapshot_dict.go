package cuda

import "github.com/libtorch-go/libtorch/internal/pickle"

// The picture of memory as Python's torch.cuda.memory._snapshot has it, for the viewer.

func (s Snapshot) dict() pickle.Dict {
	traces := make([]any, len(s.Traces))
	for i, trace := range s.Traces {
		traces[i] = dicts(trace)
	}
	return pickle.Dict{
		{Key: "segments", Value: dicts(s.Segments)},
		{Key: "device_traces", Value: traces},
		{Key: "allocator_settings", Value: s.Settings.dict()},
		{Key: "external_annotations", Value: []any{}},
	}
}

func dicts[T interface{ dict() pickle.Dict }](items []T) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = item.dict()
	}
	return list
}

func (s Segment) dict() pickle.Dict {
	kind := "small"
	if s.Large {
		kind = "large"
	}
	blocks, address := make([]any, len(s.Blocks)), s.Address
	for i, b := range s.Blocks {
		blocks[i] = b.dict(address)
		address += b.Size
	}
	return pickle.Dict{
		{Key: "device", Value: s.Device}, {Key: "address", Value: s.Address}, {Key: "total_size", Value: s.Size},
		{Key: "allocated_size", Value: s.Allocated}, {Key: "active_size", Value: s.InUse}, {Key: "requested_size", Value: s.Requested},
		{Key: "stream", Value: s.Stream}, {Key: "segment_type", Value: kind},
		{Key: "segment_pool_id", Value: pickle.Tuple{s.Pool.first, s.Pool.second}}, {Key: "is_expandable", Value: s.Expandable},
		{Key: "frames", Value: []any{}}, {Key: "blocks", Value: blocks},
	}
}

func (b Block) dict(address uint64) pickle.Dict {
	state := "inactive"
	switch {
	case b.Allocated:
		state = "active_allocated"
	case b.InUse:
		state = "active_awaiting_free"
	}
	return pickle.Dict{
		{Key: "address", Value: address}, {Key: "size", Value: b.Size}, {Key: "requested_size", Value: b.Requested},
		{Key: "state", Value: state}, {Key: "frames", Value: []any{}},
	}
}

func (t Trace) dict() pickle.Dict {
	place := "addr"
	if t.Action == "oom" {
		place = "device_free"
	}
	return pickle.Dict{
		{Key: "action", Value: t.Action}, {Key: place, Value: t.Address}, {Key: "size", Value: t.Size}, {Key: "stream", Value: t.Stream},
		{Key: "time_us", Value: t.Time}, {Key: "compile_context", Value: t.Compile}, {Key: "user_metadata", Value: t.Metadata},
		{Key: "frames", Value: []any{}},
	}
}

func (s AllocatorSettings) dict() pickle.Dict {
	return pickle.Dict{
		{Key: "PYTORCH_CUDA_ALLOC_CONF", Value: s.Text}, {Key: "max_split_size", Value: int64(s.MaxSplitSize)},
		{Key: "garbage_collection_threshold", Value: s.GarbageCollectionThreshold}, {Key: "expandable_segments", Value: s.ExpandableSegments},
		{Key: "pinned_num_register_threads", Value: s.PinnedNumRegisterThreads},
		{Key: "release_lock_on_cudamalloc", Value: s.ReleaseLockOnMalloc},
		{Key: "pinned_use_cuda_host_register", Value: s.PinnedUseHostRegister}, {Key: "roundup_power2_divisions", Value: pickle.Dict{}},
	}
}
