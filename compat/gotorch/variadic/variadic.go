package variadic

// Has tells whether the key is there.
func Has(opts []map[string]interface{}, key string) bool {
	_, ok := Lookup(opts, key)
	return ok
}

// Get is what the key stands for. Where it is not there it is dft if that is given and any map is, else nil.
func Get(opts []map[string]interface{}, key string, dft ...interface{}) interface{} {
	v, ok := Lookup(opts, key)
	if !ok && len(opts) > 0 && len(dft) > 0 {
		return dft[0]
	}
	return v
}

// Lookup is what the key stands for, and whether it is there.
func Lookup(opts []map[string]interface{}, key string) (interface{}, bool) {
	if len(opts) == 0 {
		return nil, false
	}
	v, ok := opts[0][key]
	return v, ok
}
