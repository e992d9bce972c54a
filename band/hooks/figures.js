// What the band shows, worked out without the client: the line, the rows of the pane, the ways to start memoria.

/** Returns the line under the prompt, or undefined when there is nothing to tell. */
export function lineOf(facts) {
  if (!facts) return undefined
  const recalled = facts.recalled.length
  const learned = facts.learned.length
  const usd = facts.today_usd
  if (!recalled && !learned && !usd) return undefined
  return `${counted(recalled, 'note')} recalled · ${learned} learned · ${dollars(usd)} today`
}

/** Returns the rows of one list of the pane; a fact can be forgotten, and promoted unless it holds everywhere. */
export function rowsOf(notes) {
  return notes.map(note => ({
    id: note.id,
    text: oneLine(`[${note.kind}] ${note.title ? `${note.title}: ` : ''}${note.text}`),
    canForget: /^l-[0-9a-z]+$/.test(note.id),
    canPromote: /^l-[0-9a-z]+$/.test(note.id) && !note.is_global,
  }))
}

/**
 * Returns the ways to start memoria, best first, as `{ argv, env }`: the command that an option names, the installed
 * plugin, a command on the PATH, and the clones that hooks in settings.json or a folder beside this plugin point to.
 */
export function programsOf({ command, installed, settings, root }) {
  const clones = [...installedIn(installed), ...clonesIn(settings), `${root}/..`]
  const started = clones.map(folder => ({
    argv: ['python3', '-S', '-I', `${folder}/scripts/start_command.py`],
    env: { CLAUDE_PLUGIN_ROOT: folder },
  }))
  const plugins = installedIn(installed).length
  return [
    ...(command ? [{ argv: [command], env: {} }] : []),
    ...started.slice(0, plugins),
    { argv: ['memoria'], env: {} },
    ...started.slice(plugins),
  ]
}

/** Returns the folders of memoria's plugin that installed_plugins.json names. */
function installedIn(text) {
  const plugins = parsed(text)?.plugins ?? {}
  return Object.entries(plugins)
    .filter(([name]) => name.startsWith('memoria@'))
    .flatMap(([, places]) => [places].flat())
    .map(place => place?.installPath)
    .filter(path => typeof path === 'string')
}

/** Returns the clones whose hooks settings.json starts. */
function clonesIn(text) {
  const found = [...(text ?? '').matchAll(/"([^"]+?)[\\/]+hooks[\\/]+session-start\.py"/g)].map(match => match[1])
  return [...new Set(found)].map(path => path.replaceAll('\\\\', '\\'))
}

/** Returns the JSON value of a text, or undefined. */
export function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function counted(number, noun) {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

function dollars(usd) {
  return usd > 0 && usd < 0.005 ? 'less than $0.01' : `$${usd.toFixed(2)}`
}

/** Returns a text without control characters, as one line that a pane can draw. */
function oneLine(text) {
  const flat = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g, ' ')
  const letters = [...flat.replace(/\s+/g, ' ').trim()]
  return letters.length > 240 ? `${letters.slice(0, 239).join('')}…` : letters.join('')
}
