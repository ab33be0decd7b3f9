TALK = """WEBVTT - The meeting

NOTE nobody hears this

STYLE
::cue { color: red }

intro
00:01.000 --> 00:04.000 align:start
<v Ana Ruiz>We shut the <i>north</i> gate

00:04.500 --> 00:06.000
<v Ana Ruiz>at noon &amp; ring the bell.</v>

01:02:03.400 --> 01:02:05.000
<v.loud Bo>Does the tide come in?</v>
<v Cy>Yes.</v>
<v Di>Yes.</v>
"""
FILM = """1
00:00:01,000 --> 00:00:03,000
{\\an8}The harbour freezes over
once in thirty years.

2
00:00:03,200 --> 00:00:05,000
once in thirty years.
Nobody knows why.

3
00:00:30,000 --> 00:00:31,000

4
00:01:00,000 --> 00:01:02,000

- Shut the gate!

Now.
"""


def test_a_transcript_says_who_speaks_and_when(read_file):
    source = read_file(
        "a.vtt", TALK.replace("start\n", "start\n \n")
    )  # a line with a blank, as YouTube writes it
    assert source.text.split("\n\n") == [
        "[0:00:01] Ana Ruiz: We shut the north gate at noon & ring the bell.",
        *("[1:02:03] Bo: Does the tide come in?", "[1:02:03] Cy: Yes.", "[1:02:03] Di: Yes."),
    ]
    assert list(dict.fromkeys(heading.section for heading in source.headings)) == ["0:00:01", "1:02:03"]


def test_names_at_the_start_of_most_subtitles_are_speakers(read_file):
    said = ("Ana Lee: Shut the gate.", "Ana Lee: At six.", "Bo: I see: at six.", "Or seven?")
    cues = (f"{n}\n00:00:0{n}.000 --> 00:00:0{n}.900\n{text}\n\n" for n, text in enumerate(said))
    assert read_file("a.vtt", "WEBVTT\n\n" + "".join(cues)).text == (
        "[0:00:00] Ana Lee: Shut the gate. At six.\n\n[0:00:02] Bo: I see: at six. Or seven?"
    )


def test_subtitles_are_joined_to_sentences_and_each_paragraph_knows_its_time(read_file):
    source = read_file("a.srt", FILM)
    assert source.text == (
        "The harbour freezes over once in thirty years. Nobody knows why.\n\n- Shut the gate! Now."
    )
    assert source.section_at(source.text.index("Shut")) == "0:01:00"


def test_a_long_talk_is_parted_at_ends_of_sentences(read_file):
    said = "".join(
        f"00:00:{second:02}.000 --> 00:00:{second + 1:02}.000\nThe tide of day {second} comes in.\n\n"
        for second in range(50)
    )
    paragraphs = read_file("a.vtt", said).text.split("\n\n")
    assert len(paragraphs) == 4 and all(each.endswith("comes in.") for each in paragraphs)
