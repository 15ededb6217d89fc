//! Every format: lines as its source describes them, and damaged ones.

use super::*;

fn line(action: Action, key: &str, time_ns: u64, size: Option<u64>) -> TraceLine<'static> {
    TraceLine {
        time_ns: Some(time_ns),
        action,
        key: Cow::Owned(key.as_bytes().to_vec()),
        size,
        transaction: None,
    }
}

fn assert_damaged(format: &Format, cases: &[(&str, &str)]) {
    for (text, says) in cases {
        let message = format.parse(text).unwrap_err().to_string();
        assert!(message.contains(says), "{text}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

fn csv(header: &str) -> Format {
    Format::of_first_line(FormatChoice::Auto, header).unwrap().0
}

#[test]
fn csv_has_the_columns_that_its_first_line_names_in_any_order() {
    let format = csv("time,operation,key,size,transaction");
    let expected = TraceLine {
        transaction: Some(3),
        ..line(Action::Update, "a,b", 500_000_000, Some(12))
    };
    assert_eq!(format.parse("0.5,replace,\"a,b\",12,3"), Ok(expected));
    let short = csv("key,operation");
    let read = short.parse("0x6100,seek").unwrap();
    assert_eq!((&*read.key, read.action), (&b"a\0"[..], Action::Scan));
    assert_eq!((read.time_ns, read.size), (None, None));
    assert_damaged(
        &format,
        &[
            ("0.5,get,a,12", "4 fields; the first line names 5"),
            ("0.5", "1 field; the first line names 5"),
            (
                "0.5,gett,a,12,",
                "unknown operation 'gett' (did you mean 'get'?)",
            ),
            ("soon,get,a,12,", "time 'soon' is not a number of seconds"),
            ("0.5,get,a,big,", "size 'big' is not a whole number"),
            ("0.5,get,a,-1,", "size '-1' is not a whole number"),
            ("0.5,get,a,1,x", "transaction 'x' is not a whole number"),
            ("0.5,get,\"a,1,", "a quoted field does not end"),
        ],
    );
    for (header, says) in [
        (
            "time,operation,key,sise",
            "unknown column 'sise' (did you mean 'size'?)",
        ),
        ("operation,key,key", "column 'key' is named twice"),
    ] {
        let message = Format::of_first_line(FormatChoice::Auto, header)
            .unwrap_err()
            .to_string();
        assert!(message.contains(says), "{message}");
    }
    let message = Format::of_first_line(FormatChoice::Csv, "time,key")
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("column 'operation' is missing"),
        "{message}"
    );
}

#[test]
fn json_lines_are_objects_with_the_same_names() {
    let text = r#"{"time":1.000000001,"operation":"rmw","key":"a\"b","size":40}"#;
    let expected = line(Action::ReadModifyWrite, "a\"b", 1_000_000_001, Some(40));
    assert_eq!(csv(text).parse(text), Ok(expected));
    assert_damaged(
        &Format::Jsonl,
        &[
            ("{\"key\":\"a\"}", "the line has no operation; write an"),
            (r#"{"operation":"get"}"#, "the line has no key; write an"),
            (
                r#"{"operation":"get","key":"a","sise":1}"#,
                "unknown name 'sise' (did you mean 'size'?)",
            ),
            (
                r#"{"operation":"got","key":"a"}"#,
                "unknown operation 'got'",
            ),
            (r#"{"operation":"get","key":"a","time":-1}"#, "time '-1'"),
            (r#"{"operation":"get","key":"#, "write an object as in"),
            (
                "get a",
                "'get a' is not a JSON object; write an object as in",
            ),
            ("[1]", "'[1]' is not a JSON object"),
            (
                r#"{"operation":"get","key":7}"#,
                "key 7 is not a text in double quotes",
            ),
            (
                r#"{"operation":"get","key":"a","size":-1}"#,
                "size -1 is not a whole number from 0 on",
            ),
            (
                r#"{"operation":"get","key":"a","key":"b"}"#,
                "a name is there twice",
            ),
        ],
    );
}

#[test]
fn rocksdb_lines_have_key_type_column_family_size_and_microseconds() {
    let text = "0x757365723031 1 0 128 1638400000000350";
    let time_ns = 1_638_400_000_000_350_000;
    let format = csv(text);
    assert_eq!(format, Format::Rocksdb);
    let put = line(Action::Put, "user01", time_ns, Some(128));
    assert_eq!(format.parse(text), Ok(put));
    for (kind, action) in [
        (0, Action::Get),
        (2, Action::Delete),
        (3, Action::Delete),
        (5, Action::Update),
        (6, Action::Scan),
        (7, Action::Scan),
        (8, Action::Get),
    ] {
        let text = format!("0x61 {kind} 2 0 7");
        let expected = line(action, "2/a", 7_000, None);
        assert_eq!(format.parse(&text), Ok(expected));
    }
    assert_damaged(
        &format,
        &[
            ("1 0 128 7", "4 fields"),
            ("0x6 1 0 128 7", "key '0x6'"),
            ("user 1 0 128 7", "key 'user'"),
            ("0x61 4 0 0 7", "deletes a range"),
            ("0x61 9 0 0 7", "unknown type 9"),
            (
                "0x61 1 0 0 99999999999999999999",
                "time '99999999999999999999'",
            ),
            ("0x61 1 0 0 9999999999999999999", "is too large"),
        ],
    );
}

#[test]
fn twitter_lines_have_seven_columns_and_the_key_may_have_commas() {
    let text = "5,nz:u:x,y,8,64,2,cas,3600";
    let format = csv(text);
    assert_eq!(format, Format::Twitter);
    let expected = line(Action::Update, "nz:u:x,y", 5_000_000_000, Some(64));
    assert_eq!(format.parse(text), Ok(expected));
    for (operation, action) in [
        ("get", Action::Get),
        ("gets", Action::Get),
        ("set", Action::Put),
        ("add", Action::Insert),
        ("replace", Action::Update),
        ("append", Action::Update),
        ("prepend", Action::Update),
        ("incr", Action::Update),
        ("decr", Action::Update),
        ("delete", Action::Delete),
    ] {
        let text = format!("0,k,1,0,2,{operation},0");
        assert_eq!(format.parse(&text), Ok(line(action, "k", 0, None)));
    }
    assert_damaged(
        &format,
        &[
            ("5,k,1,64,2,cas", "6 fields"),
            ("5.5,k,1,64,2,get,0", "timestamp '5.5'"),
            ("5,k,1,?,2,get,0", "value size '?'"),
            ("5,k,1,64,2,touch,0", "unknown operation 'touch'"),
        ],
    );
}

#[test]
fn msr_lines_become_values_by_host_disk_and_offset() {
    let text = "128166372003061629,web,0,Read,4096,512,41286";
    let format = csv(text);
    assert_eq!(format, Format::Msr);
    let time_ns = 12_816_637_200_306_162_900;
    let expected = line(Action::Get, "web.0.0000000000001000", time_ns, Some(512));
    assert_eq!(format.parse(text), Ok(expected));
    assert_damaged(
        &format,
        &[
            ("1,web,0,Read,4096,512", "6 fields"),
            ("1,web,0,Trim,4096,512,3", "unknown type 'Trim'"),
            ("1,web,0,Write,x,512,3", "offset 'x'"),
        ],
    );
    let header = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";
    let detected = Format::of_first_line(FormatChoice::Auto, header);
    assert_eq!(detected, Ok((Format::Msr, true)));
}

#[test]
fn a_first_line_of_no_known_format_is_refused_with_the_formats() {
    let message = Format::of_first_line(FormatChoice::Auto, "a b c")
        .unwrap_err()
        .to_string();
    for word in &FormatChoice::WORDS[1..] {
        assert!(message.contains(word), "{message}");
    }
}
