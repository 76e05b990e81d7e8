package cli

// allVerbs lists the commands in the order of the help. A command is one file that returns a verb, and one
// line here.
func allVerbs(s *session) []verb {
	return []verb{
		initVerb(s),
		upVerb(s),
		lintVerb(s),
		graphVerb(s),
		lsVerb(s),
		explainVerb(s),
		ejectVerb(s),
		runsVerb(s),
		showVerb(s),
		logsVerb(s),
		diffVerb(s),
		approveVerb(s),
		rejectVerb(s),
		resumeVerb(s),
		killVerb(s),
		mergeVerb(s),
		discardVerb(s),
		doctorVerb(s),
		demoVerb(s),
		completionVerb(s),
		versionVerb(s),
		completeVerb(s),
		guardVerb(s),
	}
}
