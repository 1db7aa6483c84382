// Package pace is what programs that measure have in common: what is compared runs in processes
// of its own (package talk), which stay warm and take turns, so that whatever else the machine
// does affects all alike; and of each one's rounds a few low order statistics are told, because on a
// busy machine the mean says little.
//
//	var crew pace.Crew[*talk.Partner]
//	defer crew.Close()
//	ours, err := crew.Get("ours", func() (*talk.Partner, error) { return talk.Start("ours", cmd) })
//	…
//	err = pace.Rounds(1, 30, func(round int) error {
//		for _, side := range pace.Turn(sides, round) {
//			… // a round below zero is not counted
//		}
//	})
package pace
