package nn

// or is what v points to, or the default.
func or[T any](v *T, def T) T {
	if v == nil {
		return def
	}
	return *v
}
