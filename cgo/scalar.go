package cgo

import "reflect"

// Scalar adds a number or a bool of any Go type, those with names of their own too. What is
// neither it does not add: it gives the call up and names the type.
func (c *Call) Scalar(v any) (kind string, ok bool) {
	switch v := v.(type) {
	case int:
		c.ScalarInt(int64(v))
	case float64:
		c.ScalarFloat(v)
	case float32:
		c.ScalarFloat(float64(v))
	case int64:
		c.ScalarInt(v)
	case bool:
		c.ScalarBool(v)
	case F16:
		c.ScalarFloat(float64(v.Float32()))
	case BF16:
		c.ScalarFloat(float64(v.Float32()))
	default:
		return c.rareScalar(v)
	}
	return "", true
}

//go:noinline
func (c *Call) rareScalar(v any) (kind string, ok bool) {
	switch r := reflect.ValueOf(v); {
	case v == nil:
		c.Abandon()
		return "<nil>", false
	case r.CanInt():
		c.ScalarInt(r.Int())
	case r.CanUint() && r.Type().Size() < 8:
		c.ScalarInt(int64(r.Uint()))
	case r.CanUint():
		c.ScalarUint(r.Uint())
	case r.CanFloat():
		c.ScalarFloat(r.Float())
	case r.CanComplex():
		c.ScalarComplex(r.Complex())
	case r.Kind() == reflect.Bool:
		c.ScalarBool(r.Bool())
	default:
		c.Abandon()
		return r.Type().String(), false
	}
	return "", true
}
