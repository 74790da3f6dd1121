package nodes

import "time"

// stageState is what is played for an object. kwok gets the stage of a user only when that is due: until then
// nothing has to be cancelled.
type stageState struct {
	play  dueStage   // what the player is to do; zero if nothing
	given givenStage // what kwok has been given last; zero if that is over

	version string // of the object that kwok has been given last
	again   int    // how often since it was given that first
}

// givenStage is the stage of a user that kwok plays, has played, or tries again later. kwok does not tell that it has
// played one.
type givenStage struct {
	dueStage        // with the time of the last attempt, or of the next one
	version  string // of the object
}

// playTime is how long after it is due a stage has been played, unless that takes work or a write, which are
// noticed.
const playTime = time.Second

// isAwaited reports whether kwok has yet to play the stage.
func (g givenStage) isAwaited(now time.Time) bool {
	return g.name != "" && now.Before(g.at.Add(playTime))
}

// current returns the stage of a user that is due for a version of the object, or that kwok has been given for it.
func (s *stageState) current(version string) dueStage {
	if s.play.user == nil && s.given.version == version {
		return s.given.dueStage
	}
	return s.play
}

// assign stores what is due for a version of an object. It returns what the player is to do, and whether kwok is to
// forget what it has been given. isInForce reports whether a stage still exists.
func (s *stageState) assign(what dueStage, version string, isInForce func(*userStage) bool) (play dueStage, cancel bool) {
	was := s.given.user
	switch {
	case was != nil && what.user != nil && what.user.stage == was.stage && s.given.version == version:
		what = dueStage{} // kwok plays it only once for a version
	case was != nil && what.name == "" && isInForce(was.stage):
		// A step of the stage may have changed the object, and another may be tried again.
	default:
		cancel = s.forget()
	}
	s.play = what
	return what, cancel
}

// forget says that kwok is to try nothing again. It reports whether that has to be cancelled.
func (s *stageState) forget() bool {
	given := s.given.name != ""
	s.given = givenStage{}
	return given
}

// take returns the stage of a user that is due, if any, and notes that kwok is given it.
func (s *stageState) take(version string, now time.Time) (what dueStage, ok bool) {
	if what = s.play; what.user == nil || now.Before(what.at) {
		return dueStage{}, false
	}
	s.play = dueStage{}
	if s.again++; s.version != version {
		s.version, s.again = version, 0
	}
	what.again = s.again
	s.given = givenStage{what, version}
	s.given.at = now
	return what, true
}

// is reports whether it is the same as another, whose time may differ.
func (g givenStage) is(other givenStage) bool {
	return g.user != nil && g.user == other.user && g.version == other.version
}

// fail notes that kwok has failed to play a version of a stage, and returns what it has been given; zero if that is
// something else. Whether kwok tries again is known soon, from retry or end.
func (s *stageState) fail(stage string, now time.Time) (failed givenStage) {
	if s.given.user == nil || stageVersion(s.given.user.stage.object) != stage {
		return givenStage{}
	}
	s.given.at = now
	return s.given
}

// end notes that kwok does not try again what it has failed to play.
func (s *stageState) end(failed givenStage) {
	if s.given.is(failed) {
		s.given = givenStage{}
	}
}

// kwokRetry is what is known when kwok logs that it tries a stage again. kwok does so as well if it was to forget the
// stage during the attempt.
type kwokRetry struct {
	given   givenStage // what kwok has been given last
	isStale bool       // that is not the stage which it tries again
}

// retry notes that kwok plays a version of a stage again, at the latest at a time.
func (s *stageState) retry(stage string, at time.Time) kwokRetry {
	if s.given.user == nil || stageVersion(s.given.user.stage.object) != stage {
		return kwokRetry{s.given, true}
	}
	s.given.at = at
	return kwokRetry{s.given, false}
}

// endRetry is called when kwok has queued what it tries again. It reports whether kwok is to forget that, and whether
// the object is to be processed again, because that may have removed from kwok's queue what is now due again.
func (s *stageState) endRetry(queued kwokRetry) (cancel, again bool) {
	switch {
	case s.given.name == "":
		return true, false
	case !queued.isStale || !s.given.is(queued.given):
		return false, false // it is still the same, or has been replaced in kwok's queue
	}
	s.play, s.given = s.given.dueStage, givenStage{}
	return true, true
}
