package cadre

import "slices"

// TaskGate has a task wait for the approval of its plan, or wait for that no more. It is
// for a team file; no door offers it.
type TaskGate struct {
	ID   TaskID
	Gate *PlanGate // who may approve; nil for a task that needs no plan
}

// Decide sets the gate, shut. One that is there already only the operator may take away
// or give to others: who leads a team does not decide what needs no person there.
func (v *TaskGate) Decide(s Snap, c Command) ([]Event, error) {
	return decideOn(s, c, v.ID, nil, func(d *draft, t *Task) error {
		next := t.Clone()
		next.Plan = nil
		if v.Gate != nil {
			names, err := d.memberNames(v.Gate.Approvers)
			if err != nil {
				return err
			}
			next.Plan = &PlanGate{Approvers: names}
		}
		switch {
		case t.Plan == nil && next.Plan == nil, t.Plan != nil && next.Plan != nil && slices.Equal(t.Plan.Approvers, next.Plan.Approvers):
			return nil
		case t.Plan != nil && c.Actor.Kind != ActorOperator:
			return refuse(RuleOperator, "only the operator may change the plan gate of task %s; this is %s", t.ID, c.Actor)
		}
		if err := d.needAuthor(t, "gate"); err != nil {
			return err
		}
		return d.putTask(t, next)
	})
}

// Answer gives the task.
func (v *TaskGate) Answer(s Snap, c Command, _ Receipt) (any, error) { return s.viewTask(v.ID) }
