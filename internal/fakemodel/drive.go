package fakemodel

import "testing"

// Drive gives a test what it drives an agent with: the agent's program, an environment of its own below dir, which leads it
// to a server, and that server, whose answers are script's, nil for Markers. The test is skipped where the agent is not to
// be driven, and fails where it is and cannot be, and when the server was asked for something that it does not know.
func (a Agent) Drive(t testing.TB, dir string, script func(Request) Answer) (program string, env []string, s *Server) {
	t.Helper()
	program, why, err := a.installed()
	switch {
	case err != nil:
		t.Fatal(err)
	case why != "":
		t.Skip(why)
	}
	if s, err = start(script); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
		if f := s.failed(); len(f) > 0 {
			t.Errorf("the fake model did not understand %q", f)
		}
	})
	if env, err = a.environ(dir, s.URL); err != nil {
		t.Fatal(err)
	}
	return program, env, s
}
