package harness

// program is the process of a session that talks in lines: one at a time, and another one when a turn needs it.
type program struct {
	c    Config
	l    *live    // nil: none runs
	left []string // what earlier ones had left behind, to be told with the next reply
}

// runs says whether there is one that can serve a turn.
func (p *program) runs() bool { return p.l != nil && !p.l.gone() }

// replace ends the one that runs, and starts argv for a turn.
func (p *program) replace(t Turn, argv, env []string) error {
	left, err := p.Close()
	p.left = append(p.left, left...)
	if err != nil {
		return err
	}
	p.l, err = startLive(p.c, t, argv, env)
	return err
}

// over completes the reply of a turn with what became of the program.
func (p *program) over(r *Reply) {
	if p.l != nil {
		r.Notes = append(r.Notes, p.l.finish()...)
	}
	if p.l != nil && p.l.gone() {
		r.Left = append(r.Left, p.l.end(false).Left...)
		p.l = nil
	}
	r.Left, p.left = append(r.Left, p.left...), nil
}

// Close implements Session.
func (p *program) Close() ([]string, error) {
	if p.l == nil {
		return nil, nil
	}
	l := p.l
	p.l = nil
	return l.end(true).Left, nil
}
