package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"foundry/runner"
)

// DamageError says that a log holds something that no crash of Foundry leaves behind. The log was not changed.
type DamageError struct {
	File string // the path of the log
	Line int    // from 1
	What string
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s:%d: the log is damaged: %s", e.File, e.Line, e.What)
}

func damaged(dir string, err error) error {
	var d *DamageError
	if errors.As(err, &d) {
		d.File = filepath.Join(dir, logName)
	}
	return err
}

// parse reads a whole log. good is how many bytes hold whole events; what follows them is one torn line. A last
// line that lacks only its line break is whole: no part of an object is an object. Lines may have any length.
func parse(data []byte) (events []runner.Event, good int, err error) {
	for n := 1; good < len(data); n++ {
		line, size, ended := data[good:], len(data)-good, false
		if at := bytes.IndexByte(line, '\n'); at >= 0 {
			line, size, ended = line[:at], at+1, true
		}
		var e runner.Event
		if what := decode(line, n, &e); what != "" {
			if !ended {
				return events, good, nil
			}
			return nil, 0, &DamageError{Line: n, What: what}
		}
		events = append(events, e)
		good += size
	}
	return events, good, nil
}

// decode reads one line into e and says what is wrong with it, if anything is.
func decode(line []byte, seq int, e *runner.Event) string {
	if len(bytes.TrimSpace(line)) == 0 {
		return "an empty line"
	}
	if err := json.Unmarshal(line, e); err != nil {
		return "not an event: " + err.Error()
	}
	if e.Kind == "" {
		return "an event without a kind"
	}
	if e.Seq != seq {
		return fmt.Sprintf("event %d stands where event %d belongs", e.Seq, seq)
	}
	return ""
}

// encode adds the line of an event, its line break included.
func encode(to *bytes.Buffer, e *runner.Event) error {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return fmt.Errorf("encode event %d (%s): %w", e.Seq, e.Kind, err)
	}
	return nil
}
