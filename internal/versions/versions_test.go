package versions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/versions"
	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestMain(m *testing.M) { torchtest.Main(m) }

func TestDifferences(t *testing.T) {
	late := versions.Difference{What: "comes with 2.14", Since: 214}
	for version, want := range map[string]bool{"2.9.1": false, "2.11.0": false, "2.13.0": false, "2.14.0": true, "2.14.1+cpu": true,
		"2.15.0": true, "3.0.0": true} {
		require.Equal(t, want, late.HoldsIn(version), version)
	}
	require.Panics(t, func() { late.HoldsIn("unknown") })
	for _, d := range []versions.Difference{versions.TruncNormalDrawsAgain, versions.UndefinedBecomesZeros, versions.LBFGSMaximizes,
		versions.SetFillsByNumber, versions.LinearCrossEntropy, versions.SetsOfParameters} {
		require.NotEmpty(t, d.What)
		require.Equal(t, d.HoldsIn(torch.Version()), d.Holds(), d.What)
		require.False(t, d.HoldsIn("2.11.0"), "%s: a difference is from the default version", d.What)
	}
}
