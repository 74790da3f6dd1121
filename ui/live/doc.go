// Package live is the full-screen view of a control plane: all work queues, the
// activity of the controllers, and a page for each controller and object. It
// polls its source a few times per second, so that it never blocks the control
// plane.
//
// The model is changed by Update only, and View draws it: keys become actions, and what an action reads or changes runs as a
// command, whose result is another message.
//
// The files:
//
//   - the program: live.go (Run), model.go, update.go, input.go; fault.go catches panics, guard.go and background_*.go keep
//     what other code writes off the screen; page.go shows a link to the page for a projector;
//   - keys and the mouse: keys.go (which keys there are, and what they do), actions.go (how), mouse.go, cursor.go, find.go,
//     copying.go;
//   - what is shown: pull.go reads the source, rows.go makes rows of it, which totals.go counts and arrange.go sorts and
//     filters, stream.go the feed, past.go a moment of before, loops.go finds hot loops;
//   - the screen: view.go, layout.go, header.go, footer.go, overlay.go (help and other boxes), output.go (what a command
//     prints); viewport.go scrolls;
//   - the upper pane: table.go, columns.go, chart.go; browser.go has objects, clients.go clients;
//   - the lower pane: feed.go, item.go;
//   - pages of details: details.go, controller.go, now.go, boxes.go, object.go, held.go, recordview.go, textview.go,
//     story.go (what trace and why say);
//   - interventions: intervene.go, steps.go, speed.go;
//   - text: text.go, format.go, theme.go, palette.go.
package live
