import { describe, expect, mock, test } from 'claude-code/testing'

const SESSION = '0b1c'
const TEXT = 'Releases are built with uv.'
const NOTE = { id: 'l-7f3a', kind: 'fact', title: '', text: TEXT, source: 'daily', is_global: false }
const LEARNED = { id: 'l-9k2x', kind: 'preference', text: 'Tests run without a network.', is_global: false }
const SCROLL = { offset: 0, bodyRows: 20 }
const PROPS = { title: 'memoria', isFocused: true, bodyColumns: 100, placement: 'inline', scroll: SCROLL, view: {} }

/** The world beneath the mod: a memoria that answers, and a record of what was run, shown and told. */
const WATCH = ['/state/learned.db']
const STATUS = { session: SESSION, recalled: [NOTE], learned: [LEARNED], today_usd: 0.0149, watch: WATCH }
function world(on, answers = { status: STATUS }) {
  const seen = { ran: [], statuses: [], toasts: [], opened: [], mtime: 1 }
  const clock = mock.clock(on)
  mock.env(on, { HOME: '/home/me' })
  on('session.start', ($, e) => ({ cwd: e.cwd }))
  on('session.id', () => ({ value: SESSION }))
  on('command.register', ($, e) => ({ value: { command: e.name } }))
  on('fs.read', () => ({ deny: 'ENOENT' }))
  on('fs.stat', () => ({ value: { kind: 'file', size: 1, mtimeMs: seen.mtime, isLink: false } }))
  on('turn.complete', ($, e) => ({ text: e.answer }))
  on('process.run', ($, e) => {
    const words = e.argv.slice(e.argv[0] === 'memoria' ? 1 : 5)
    seen.ran.push(words.join(' '))
    const answer = answers[words[0]]
    if (answer === undefined) return { deny: 'ENOENT' }
    const stdout = JSON.stringify(answer)
    return { value: { exitCode: 0, stdout, stderr: '', isStdoutTruncated: false, isStderrTruncated: false } }
  })
  on('ui.status', ($, e) => (seen.statuses.push(e.text), { value: undefined }))
  on('ui.toast', ($, e) => (seen.toasts.push(e.text), { value: undefined }))
  on('ui.open', ($, e) => (seen.opened.push(e.id), { value: { isPlaced: true } }))
  on('ui.log', () => ({ value: undefined }))
  return { seen, clock }
}

const start = ($, isInteractive = true) =>
  $.session.start({ cwd: '/work', surface: isInteractive ? 'terminal' : null, isInteractive })
const turn = $ => $.turn.complete({ answer: 'done', durationMs: 1, isAborted: false, turnId: 't1', reason: 'answer' })
const RUN = { command: 'memoria-band', args: '', origin: { kind: 'composer' } }
const open = $ => $.command.run({ ...RUN, presentation: { isFullscreen: false, columns: 120 } })
const PANE = { plugin: 'memoria-band', surface: 'terminal', component: 'Pane', requestId: 'memoria-band' }
const mount = $ => $.ui.mount({ ...PANE, props: PROPS })

describe('register', () => {
  test('the line is shown after the session started, which did not wait for it', async ($, on) => {
    const { seen, clock } = world(on)
    await start($)
    expect(seen.ran).toEqual([])
    await clock.advance(10)
    await clock.settle()
    expect(seen.ran).toEqual([`status --session ${SESSION} --json`])
    expect(seen.statuses.at(-1)).toBe('1 note recalled · 1 learned · $0.01 today')
  })

  test('memoria is asked again only when a file has changed', async ($, on) => {
    const { seen, clock } = world(on)
    await start($)
    await clock.advance(10)
    await clock.settle()
    await clock.advance(60_000)
    await turn($)
    await clock.advance(10)
    await clock.settle()
    expect(seen.ran.length).toBe(1)
    seen.mtime = 2
    await clock.advance(5_000)
    await clock.settle()
    expect(seen.ran.length).toBe(2)
  })

  test('where nobody sees a screen nothing is done', async ($, on) => {
    const { seen, clock } = world(on)
    await start($, false)
    await clock.advance(60_000)
    await turn($)
    await clock.settle()
    expect(seen.ran).toEqual([])
  })

  test('the pane lists what was recalled and learned, and forgets at the second press', async ($, on) => {
    const { seen, clock } = world(on, {
      status: { session: SESSION, recalled: [NOTE], learned: [LEARNED], today_usd: 0, watch: [] },
      learned: [{}],
    })
    await start($)
    await clock.advance(10)
    await clock.settle()
    await open($)
    expect(seen.opened).toEqual(['memoria-band'])
    const ui = await mount($)
    expect(await ui.find({ type: 'Text', text: /built with uv/ })).toBeDefined()
    expect(await ui.find({ type: 'Text', text: /without a network/ })).toBeDefined()
    await ui.press({ key: 'forget-Recalled-0' })
    expect(seen.ran.filter(words => words.startsWith('learned'))).toEqual([])
    await ui.press({ key: 'forget-Recalled-0' })
    await clock.settle()
    expect(seen.ran).toContain('learned delete l-7f3a --json')
    await ui.press({ key: 'promote-Learned-0' })
    await clock.settle()
    expect(seen.ran).toContain('learned promote l-9k2x --json')
    expect(seen.toasts).toEqual(['Forgotten.', 'Holds in every project now.'])
    await ui.unmount()
  })

  test('without memoria the pane says so and the line stays away', async ($, on) => {
    const { seen, clock } = world(on, {})
    await start($)
    await clock.advance(10)
    await clock.settle()
    expect(seen.statuses.filter(Boolean)).toEqual([])
    await open($)
    await clock.advance(10)
    await clock.settle()
    const ui = await mount($)
    expect(await ui.find({ type: 'Text', text: /not found/ })).toBeDefined()
    await ui.unmount()
  })
})
