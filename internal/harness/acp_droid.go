package harness

// factoryDroid drives Factory's droid over the protocol.
func factoryDroid() preset {
	return preset{
		title:   "Factory's droid",
		state:   droidPlaces,
		program: "droid",
		args:    []string{"exec", "--output-format", "acp"},
		reading: []string{"spec"},
		asking:  []string{"normal"},
		writing: []string{"auto-low"},
		install: "npm install -g droid",
		signs:   []string{"FACTORY_API_KEY", "~/.factory/auth.json"},
		login:   "run `droid` once and log in, or set FACTORY_API_KEY",
		silent:  true,
		lacks: []string{"it does not tell when a reply was cut off", "it repeats a failed model request for minutes: keep a stall_timeout",
			"it asks for no permission for what it takes to be of low risk when nobody answers permission requests"},
	}
}
