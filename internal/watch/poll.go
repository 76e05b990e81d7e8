package watch

import (
	"context"
	"sync/atomic"
	"time"
)

// share is the part of the time that polling may spend looking.
const share = 20

// poller asks for everything to be compared, at intervals.
type poller struct {
	every time.Duration
	took  atomic.Int64 // nanoseconds that the last look took
}

func (p *poller) next(ctx context.Context) ([]string, bool, error) {
	timer := time.NewTimer(max(p.every, share*time.Duration(p.took.Load())))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil, true, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

func (p *poller) close() error { return nil }
