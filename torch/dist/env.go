package dist

import (
	"fmt"
	"os"
	"strconv"
)

// Environment is what torchrun tells each process that it starts.
type Environment struct {
	Rank, WorldSize           int    // among all processes
	LocalRank, LocalWorldSize int    // among those of this machine; the rank's card is cuda:LocalRank
	GroupRank, GroupWorldSize int    // of this machine among the machines
	MasterAddr                string // where rank 0's store is
	MasterPort                int
	RestartCount, MaxRestarts int    // how often the group was started anew, and may be
	RunID                     string // of the job
	AgentStore                bool   // the launcher serves the store, not rank 0
}

// Env reads the environment that torchrun, in Python or Go, sets. RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT are needed; the
// rest is as for one machine where it is not set.
func Env() (e Environment, err error) {
	needed := func(name string) string {
		text := os.Getenv(name)
		if text == "" && err == nil {
			err = fmt.Errorf("dist: the environment variable %s is not set: run the program under torchrun, or give "+
				"InitOptions a Store, a Rank and a WorldSize", name)
		}
		return text
	}
	number := func(name, text string) int {
		n, wrong := strconv.Atoi(text)
		if wrong != nil && err == nil {
			err = fmt.Errorf("dist: the environment variable %s must be a number, got %q", name, text)
		}
		return n
	}
	optional := func(name string, otherwise int) int {
		if text := os.Getenv(name); text != "" {
			return number(name, text)
		}
		return otherwise
	}
	e.Rank = number("RANK", needed("RANK"))
	e.WorldSize = number("WORLD_SIZE", needed("WORLD_SIZE"))
	e.MasterAddr = needed("MASTER_ADDR")
	e.MasterPort = number("MASTER_PORT", needed("MASTER_PORT"))
	e.LocalRank = optional("LOCAL_RANK", e.Rank)
	e.LocalWorldSize = optional("LOCAL_WORLD_SIZE", e.WorldSize)
	e.GroupRank = optional("GROUP_RANK", 0)
	e.GroupWorldSize = optional("GROUP_WORLD_SIZE", 1)
	e.RestartCount = optional("TORCHELASTIC_RESTART_COUNT", 0)
	e.MaxRestarts = optional("TORCHELASTIC_MAX_RESTARTS", 0)
	e.RunID = os.Getenv("TORCHELASTIC_RUN_ID")
	e.AgentStore = os.Getenv("TORCHELASTIC_USE_AGENT_STORE") == "True"
	if err == nil && (e.WorldSize < 1 || e.Rank < 0 || e.Rank >= e.WorldSize) {
		err = fmt.Errorf("dist: RANK is from 0 to WORLD_SIZE - 1, got rank %d of %d", e.Rank, e.WorldSize)
	}
	return e, err
}
