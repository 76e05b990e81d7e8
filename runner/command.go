package runner

import (
	"fmt"
	"time"

	"foundry/graph"
)

// CommandKind says what a command wants done.
type CommandKind uint8

// The kinds of commands; the zero value is invalid.
const (
	Record         CommandKind = iota + 1 // append Event to the log; always before the commands that follow it
	MakeWorkspace                         // -> workspace.ready
	TakeSnapshot                          // -> snapshot.taken
	SendTurn                              // -> turn.started, turn.ended
	CheckBoundary                         // -> boundary.checked
	CheckReview                           // undo what a reviewer changed, and look for what it cites -> review.checked
	JudgeGates                            // -> one gate.checked per gate, in order, from the first that is not judged yet
	StartCommand                          // -> command.started, command.ended
	PutAsk                                // -> ask.answered, or permission.answered of a phase that State.Asked knows; now or in another process
	MakeApart                             // make the worktree that a visit has to itself; State.Apart says from what -> worktree.made
	MergeBack                             // merge the work of such a visit into the run's workspace -> work.merged
	UndoPhase                             // put the workspace back to the visit's start; what was changed since the visit stays if it is for a review -> undo.done
	CheckCriterion                        // -> criterion.checked
	StopWork                              // end what runs for this phase; its result still comes
	Park                                  // nothing can go on: the run waits or is paused
	End                                   // the verdict is in; nothing comes after it
)

var commandNames = [...]string{Record: "record", MakeWorkspace: "workspace", TakeSnapshot: "snapshot", SendTurn: "turn", CheckBoundary: "boundary", CheckReview: "review", JudgeGates: "gates",
	StartCommand: "command", PutAsk: "ask", MakeApart: "worktree", MergeBack: "merge", UndoPhase: "undo", CheckCriterion: "criterion", StopWork: "stop", Park: "park", End: "end"}

func (k CommandKind) String() string { return commandNames[k] }

// ID is a command's identity, the same in every replay. Phase is -1 for what concerns the whole run.
type ID struct {
	Kind    CommandKind
	Phase   graph.PhaseID
	Visit   int
	Attempt int
	Turn    int
	N       int // of criteria, jumps and parks; of a command with repeat, how often it has passed
}

func (id ID) String() string {
	return fmt.Sprintf("%s %d@%d/%d.%d#%d", id.Kind, id.Phase, id.Visit, id.Attempt, id.Turn, id.N)
}

// Command is something that the machine wants done. A driver that carries one out answers with the facts
// that the kind names, with the same phase, visit, attempt and turn.
type Command struct {
	ID      ID
	Event   *Event    // of Record
	Purpose Purpose   // of TakeSnapshot and SendTurn; of UndoPhase when it is for a review
	Agent   int       // of SendTurn: index into Graph.Agents
	Session int       // of SendTurn: the turn's number within the agent's session, from 1
	Before  bool      // of CheckCriterion: before the work
	Of      int       // the visit whose work is judged again, in the workspace as it was when this one began; 0 for a visit with work of its own
	ResetAt time.Time // of Park, when the run is paused: when the usage limit ends, if known
}

// Counted writes into the result of a command which of the runs of its phase it was, if the phase has several.
func Counted(ph *graph.Phase, c Command, r *CommandResult) {
	if ph.Repeat > 1 {
		r.Round, r.Of = c.ID.N+1, ph.Repeat
	}
}

// Purpose says what a snapshot or a turn is for.
type Purpose uint8

// The purposes; the zero value is for commands that have none.
const (
	ForStart            Purpose = iota + 1 // a snapshot before a phase
	ForEnd                                 // a snapshot after a phase that somebody reads
	ForJump                                // a snapshot before a jump back
	ForAsk                                 // the tree a person is shown
	ForVerdict                             // the tree that acceptance judges
	ForPrompt                              // a turn that opens a visit
	ForEnvelope                            // a turn that asks for a usable reply
	ForCheck                               // a turn that asks to mend what boundary or gates found
	ForMending                             // a turn that asks to mend what a reviewer found
	ForPermission                          // a turn that goes on after a person has answered a request
	ForReview                              // a turn of a reviewer
	ForReviewAgain                         // a turn that asks a reviewer for a usable answer
	ForReviewPermission                    // a turn of a reviewer that goes on after a person has answered a request
)

var purposeNames = [...]string{ForStart: "start", ForEnd: "end", ForJump: "jump", ForAsk: "ask", ForVerdict: "verdict", ForPrompt: "prompt",
	ForEnvelope: "envelope", ForCheck: "check", ForMending: "mending", ForPermission: "permission", ForReview: "review", ForReviewAgain: "review", ForReviewPermission: "review"}

func (p Purpose) String() string { return purposeNames[p] }

// Reviews says that a turn is a reviewer's.
func (p Purpose) Reviews() bool {
	return p == ForReview || p == ForReviewAgain || p == ForReviewPermission
}
