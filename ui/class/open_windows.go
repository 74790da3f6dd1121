package class

// safeOpen is nothing here: users without the right to create links cannot make one.
const safeOpen = 0
