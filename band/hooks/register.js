// memoria-band: shows what memoria recalled and learned in this session. Nothing here runs before a prompt: `memoria
// status --session` runs in the background, and only when one of the files that its answer names has changed.

import { lineOf, parsed, programsOf, rowsOf } from './figures.js'

const NAME = 'memoria-band'
const LOOK_MS = 5_000 // between two looks at the files
const COMMAND_MS = 20_000 // a command that takes longer is ended
const PANE_ROWS = 20

export function register(on, options) {
  const state = {
    command: options?.command ?? '',
    facts: null,
    problem: '',
    programs: null,
    stamp: '',
    timer: null,
    isRunning: false,
    isDue: false,
    asked: '', // the fact that a second press forgets
  }

  on('session.start', async ($, e, next) => {
    const result = await next(e)
    if (e.isInteractive) await begin($, state)
    return result
  })

  on('turn.complete', async ($, e, next) => {
    const result = await next(e)
    if (!e.agentId && state.timer) $.clock.after(1, () => void look($, state))
    return result
  })

  on('command.run', { command: NAME }, async $ => {
    await $.ui.open({ id: NAME, title: 'memoria', focus: true, closeOnEscape: true, rows: PANE_ROWS })
    $.clock.after(1, () => void refresh($, state))
    return {}
  }).catch(() => ({ text: 'The pane cannot be opened here.' }))

  on('ui.render', { component: 'Pane', requestId: NAME }, ($, e) => pane($, e, state))
}

/** Registers the command, and looks now and from time to time: a worker may learn a while after a turn. */
async function begin($, state) {
  try {
    const description = 'Show what memoria recalled and learned in this session'
    await $.command.register({ name: NAME, description, immediate: true })
  } catch (error) {
    $.ui.log(`${NAME}: the command is not registered (${error?.message ?? error})`, { to: 'debug' })
  }
  state.timer?.cancel()
  state.timer = $.clock.every(LOOK_MS, () => void look($, state))
  $.clock.after(1, () => void refresh($, state))
}

/** Asks memoria again when a file that its last answer rests on has changed, or the session is another one. */
async function look($, state) {
  const stamp = await stampOf($, state)
  if (stamp !== state.stamp) await refresh($, state)
}

async function stampOf($, state) {
  const session = await $.session.id()
  const stats = await Promise.all((state.facts?.watch ?? []).map(path => $.fs.stat(path).catch(() => undefined)))
  return [session, ...stats.map(stat => (stat ? `${stat.mtimeMs} ${stat.size}` : ''))].join('\n')
}

/** Asks memoria what this session recalled and learned, and shows it; one question at a time. */
async function refresh($, state) {
  if (state.isRunning) {
    state.isDue = true
    return
  }
  state.isRunning = true
  try {
    const stamp = await stampOf($, state)
    const known = state.facts?.watch
    const session = await $.session.id()
    const facts = await ask($, state, ['status', '--session', session, '--json'])
    if (facts) {
      state.facts = facts
      state.stamp = known?.join() === facts.watch.join() ? stamp : await stampOf($, state)
    }
    $.ui.status(lineOf(state.facts))
    $.ui.invalidate('ui.render')
  } catch (error) {
    $.ui.log(`${NAME}: ${error?.message ?? error}`, { to: 'debug' })
  } finally {
    state.isRunning = false
  }
  if (state.isDue) {
    state.isDue = false
    await refresh($, state)
  }
}

/** Runs memoria with these arguments and returns its JSON, or undefined; remembers the way that worked. */
async function ask($, state, words) {
  state.programs ??= await programs($, state.command)
  let problem = 'The memoria command was not found. Set its path in the options of this plugin.'
  for (const program of state.programs) {
    const ran = await run($, program, words)
    const answer = ran?.exitCode === 0 ? parsed(ran.stdout) : undefined
    if (answer !== undefined) {
      state.programs = [program]
      state.problem = ''
      return answer
    }
    if (ran?.stderr) problem = ran.stderr.trim().split('\n').at(-1)
  }
  state.problem = problem
  state.programs = null
  return undefined
}

async function run($, program, words) {
  try {
    return await $.process.run([...program.argv, ...words], { env: program.env, timeoutMs: COMMAND_MS })
  } catch {
    return undefined // it cannot be started, or took too long
  }
}

async function programs($, command) {
  const home = (await $.env.get('HOME')) ?? (await $.env.get('USERPROFILE')) ?? ''
  const config = (await $.env.get('CLAUDE_CONFIG_DIR')) || `${home}/.claude`
  const [installed, settings] = await Promise.all([
    $.fs.read(`${config}/plugins/installed_plugins.json`).catch(() => ''),
    $.fs.read(`${config}/settings.json`).catch(() => ''),
  ])
  return programsOf({ command, installed, settings, root: $.plugin.root })
}

function pane($, e, state) {
  const { Box, Text } = $.ui.resolve(e)
  const line = lineOf(state.facts)
  const head = state.problem || line || 'Nothing recalled or learned in this session yet.'
  const lists = state.facts ? [['Recalled', state.facts.recalled], ['Learned', state.facts.learned]] : []
  return Box({
    flexDirection: 'column',
    paddingX: 1,
    children: [
      Text({ bold: true, children: head }),
      ...lists.filter(([, notes]) => notes.length).map(([title, notes]) => list($, e, state, title, notes)),
    ],
  })
}

function list($, e, state, title, notes) {
  const { Box, Text } = $.ui.resolve(e)
  return Box({
    flexDirection: 'column',
    children: [
      Text({ dimColor: true, children: title }),
      ...rowsOf(notes).map((row, number) => rowOf($, e, state, row, `${title}-${number}`)),
    ],
  })
}

function rowOf($, e, state, row, key) {
  const { Box, Text, Button } = $.ui.resolve(e)
  const isAsked = state.asked === row.id
  const buttons = []
  if (row.canForget) {
    const label = isAsked ? 'forget it?' : 'forget'
    buttons.push(Button({ key: `forget-${key}`, label, onPress: () => forget($, state, row.id) }))
  }
  if (row.canPromote) {
    const onPress = () => change($, state, 'promote', row.id)
    buttons.push(Button({ key: `promote-${key}`, label: 'promote', onPress }))
  }
  return Box({
    flexDirection: 'row',
    gap: 1,
    children: [Box({ flexGrow: 1, flexShrink: 1, children: [Text({ children: row.text })] }), ...buttons],
  })
}

/** Forgets a fact at the second press. */
async function forget($, state, id) {
  if (state.asked !== id) {
    state.asked = id
    $.ui.invalidate('ui.render')
    return
  }
  await change($, state, 'delete', id)
}

async function change($, state, verb, id) {
  state.asked = ''
  const done = await ask($, state, ['learned', verb, id, '--json'])
  const told = verb === 'delete' ? 'Forgotten.' : 'Holds in every project now.'
  $.ui.toast(done ? told : state.problem)
  await refresh($, state)
}
