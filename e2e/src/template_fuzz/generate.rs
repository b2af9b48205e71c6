//! Templates from a grammar: most are right, and those that are not are wrong in the ways people are.

use super::{
    mutate,
    words::{
        BAD_NUMBERS, BAD_TEXTS, FIELDS, FUNCTIONS, NUMBERS, OF_FLOAT, OF_INT, OF_LIST, OF_MAP,
        OF_TEXT, PLAIN, SMALL, TEMPLATES, TEXTS, VARIABLES, VERBS,
    },
};
use crate::cel_fuzz::random::Random;
use anyhow::{Context, Result};
use serde_json::{Value as Json, json};
use std::{fs, path::Path};

/// Writes templates.
#[derive(Debug)]
pub struct Grammar {
    data: Vec<Json>,
}

impl Grammar {
    /// With the data of a folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut data = vec![Json::Null];
        let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort();
        for file in files {
            data.push(serde_json::from_str(&fs::read_to_string(file)?)?);
        }
        // Most fields are those of the large one.
        data.sort_by_key(|data| data.to_string().len());
        Ok(Self { data })
    }

    /// A template and what it is rendered with.
    #[must_use]
    pub fn question(&self, random: &mut Random) -> Json {
        let data = if random.percent(85) { self.data.last() } else { random.choose(&self.data) };
        let mut writer = Writer {
            random,
            tokens: Vec::new(),
            variables: Vec::new(),
            defined: Vec::new(),
            loops: 0,
            defining: false,
        };
        writer.template();
        let tokens = writer.tokens;
        let tokens = if random.percent(35) { mutate::broken(random, tokens) } else { tokens };
        let mut question = json!({"template": tokens.concat(), "data": data});
        if random.percent(15) {
            question["missingkey"] = "error".into();
        }
        question
    }
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy)]
enum Want {
    Any,
    Text,
    Int,
    Small,
    Float,
    List,
    Map,
    Interface,
}

struct Writer<'r> {
    random: &'r mut Random,
    tokens: Vec<String>,
    variables: Vec<&'static str>,
    /// Templates that there are.
    defined: Vec<&'static str>,
    loops: usize,
    /// Inside a template that can be called: where calls could call each other for ever.
    defining: bool,
}

impl Writer<'_> {
    fn put(&mut self, token: impl Into<String>) {
        self.tokens.push(token.into());
    }

    fn pick(&mut self, of: &[&'static str]) {
        let token = self.random.pick(of);
        self.put(token);
    }

    fn template(&mut self) {
        for _ in 0..self.random.below(3) {
            if self.random.percent(20) {
                self.definition();
            }
        }
        self.list(3);
        if self.random.percent(15) {
            self.definition();
        }
    }

    fn definition(&mut self) {
        self.open();
        self.put("define");
        self.put(" ");
        self.new_name();
        self.close();
        self.body(2);
        self.end();
    }

    fn new_name(&mut self) {
        let name = self.random.pick(TEMPLATES);
        let is_known = self.defined.contains(&name);
        let name = if is_known && self.random.percent(90) { "\"another\"" } else { name };
        self.defined.push(name);
        self.put(name);
    }

    /// What a template sees: no variables, no loop around it.
    fn body(&mut self, depth: usize) {
        let variables = std::mem::take(&mut self.variables);
        let loops = std::mem::replace(&mut self.loops, 0);
        let defining = std::mem::replace(&mut self.defining, true);
        self.list(depth);
        (self.variables, self.loops, self.defining) = (variables, loops, defining);
    }

    fn open(&mut self) {
        let token = self.random.pick(&["{{", "{{", "{{ ", "{{- ", "{{-\n"]);
        self.put(token);
    }

    fn close(&mut self) {
        let token = self.random.pick(&["}}", "}}", " }}", " -}}", "\n-}}"]);
        self.put(token);
    }

    fn end(&mut self) {
        self.open();
        self.put("end");
        self.close();
    }

    fn list(&mut self, depth: usize) {
        let variables = self.variables.len();
        for _ in 0..=self.random.below(3) {
            if self.random.percent(40) {
                self.pick(PLAIN);
            }
            self.node(depth);
        }
        self.variables.truncate(variables);
    }

    fn node(&mut self, depth: usize) {
        match self.random.below(if depth == 0 { 60 } else { 100 }) {
            0..45 => {
                self.open();
                self.pipeline(2, true);
                self.close();
            }
            45..50 => self.put("{{/* a\ncomment */}}"),
            50..54 if self.loops > 0 || self.random.percent(10) => {
                self.open();
                self.pick(&["break", "continue"]);
                self.close();
            }
            50..60 if !self.defined.is_empty() && !self.defining || self.random.permille(10) => {
                self.open();
                self.put("template");
                self.put(" ");
                let known = self.defined.last().copied().filter(|_| self.random.percent(95));
                let odd = if self.random.permille(20) { "\"t\"" } else { "\"nope\"" };
                let name = known.unwrap_or(odd);
                self.put(name);
                if self.random.percent(70) {
                    self.put(" ");
                    self.pipeline(1, false);
                }
                self.close();
            }
            50..60 => self.pick(PLAIN),
            60..75 => self.branch("if", depth),
            75..83 => self.branch("with", depth),
            83..96 => self.branch("range", depth),
            _ => {
                self.open();
                self.put("block");
                self.put(" ");
                self.new_name();
                self.put(" ");
                self.pipeline(1, false);
                self.close();
                self.body(depth - 1);
                self.end();
            }
        }
    }

    fn branch(&mut self, control: &str, depth: usize) {
        let variables = self.variables.len();
        self.open();
        self.put(control);
        self.put(" ");
        if control == "range" {
            self.range_pipeline();
        } else {
            self.pipeline(2, true);
        }
        self.close();
        let is_loop = usize::from(control == "range");
        self.loops += is_loop;
        self.list(depth - 1);
        self.loops -= is_loop;
        if self.random.percent(40) {
            self.open();
            self.put("else");
            if control != "range" && self.random.percent(30) {
                self.put(" ");
                self.put(control);
                self.put(" ");
                self.pipeline(1, true);
            }
            self.close();
            self.list(depth - 1);
        }
        self.end();
        self.variables.truncate(variables);
    }

    fn range_pipeline(&mut self) {
        if self.random.percent(40) {
            let one = self.random.pick(VARIABLES);
            self.put(one);
            self.variables.push(one);
            if self.random.percent(60) {
                self.put(", ");
                let two = self.random.pick(VARIABLES);
                self.put(two);
                self.variables.push(two);
            }
            self.pick(&[" := ", " := ", ":=", " = "]);
        }
        match self.random.below(10) {
            // Never a large number: Go would count to it.
            0..2 => self.pick(SMALL),
            2..8 => {
                self.put(".");
                self.pick(&[
                    "list",
                    "ints",
                    "none",
                    "mixed",
                    "map",
                    "deep.list",
                    "void",
                    "null",
                    "nope",
                    "s",
                    "n",
                    "f",
                ]);
            }
            8 => {
                self.put("slice .list ");
                self.pick(SMALL);
            }
            _ => self.put("."),
        }
    }

    fn pipeline(&mut self, depth: usize, declares: bool) {
        if declares && self.random.percent(15) {
            let name = self.random.pick(VARIABLES);
            self.put(name);
            self.pick(&[" := ", " := ", ":=", " = "]);
            self.command(depth, false);
            self.variables.push(name);
        } else {
            self.command(depth, false);
        }
        while self.random.percent(25) {
            self.pick(&[" | ", "|", "\n| "]);
            self.command(depth, true);
        }
    }

    fn command(&mut self, depth: usize, piped: bool) {
        if !piped && self.random.percent(45) || piped && self.random.percent(4) {
            self.operand(depth);
            if self.random.percent(4) {
                self.put(" ");
                self.operand(0);
            }
            return;
        }
        if self.random.percent(25) {
            return self.printf(depth, piped);
        }
        let name = self.random.pick(FUNCTIONS);
        let called = if self.random.permille(985) { name } else { "nope" };
        self.put(called);
        let mut wants = self.wants(name);
        if self.random.percent(4) {
            wants.push(Want::Any);
        }
        if piped || self.random.percent(4) {
            wants.pop();
        }
        for want in wants {
            self.put(" ");
            self.argument(want, depth.saturating_sub(1));
        }
    }

    /// Arguments that a function takes.
    fn wants(&mut self, name: &str) -> Vec<Want> {
        use Want::{Any, Int, List, Map, Text};
        let several = 1 + self.random.below(3);
        match name {
            "getIndex" | "machineName" | "bootMAC" | "clusterName" | "metal3MachineUID" => {
                Vec::new()
            }
            "lower" | "upper" | "trim" | "machineLabel" | "hostLabel" => vec![Text],
            "hostMAC" => vec![Want::Interface],
            "trimPrefix" | "trimSuffix" | "contains" | "hasPrefix" | "hasSuffix" => {
                vec![Text, Text]
            }
            "replace" => vec![Text, Text, Text],
            "trunc" => vec![Int, Text],
            "getIndexWithOffset" => vec![Int],
            "len" => vec![[Text, List, Map][self.random.below(3)]],
            "index" if self.random.percent(50) => vec![List, Want::Small],
            "index" => vec![Map, Text],
            "slice" => [[Text, List][self.random.below(2)]]
                .into_iter()
                .chain(vec![Want::Small; self.random.below(3)])
                .collect(),
            "eq" | "ne" | "lt" | "le" | "gt" | "ge" => {
                let of = [Text, Int, Want::Float, Any][self.random.below(4)];
                vec![of; if name == "eq" { 1 + several } else { 2 }]
            }
            "not" => vec![Any],
            "default" => vec![Any; 2],
            _ => vec![Any; several],
        }
    }

    fn argument(&mut self, want: Want, depth: usize) {
        if self.random.percent(6) {
            return self.operand(depth);
        }
        match want {
            Want::Any => self.operand(depth),
            Want::Text if self.random.percent(60) => self.pick(TEXTS),
            Want::Text => self.pick(OF_TEXT),
            Want::Int if self.random.percent(50) => self.pick(SMALL),
            Want::Int => self.pick(OF_INT),
            Want::Small => self.pick(&[
                "0",
                "1",
                "2",
                "3",
                "0",
                "1",
                "(len \"a\")",
                "(index \"\\x01\" 0)",
                "4",
            ]),
            Want::Float => self.pick(OF_FLOAT),
            Want::List => self.pick(OF_LIST),
            Want::Map => self.pick(OF_MAP),
            Want::Interface => self.pick(&["\"eth0\"", "\"eth1\"", "\"eth9\""]),
        }
    }

    fn printf(&mut self, depth: usize, piped: bool) {
        self.put("printf ");
        let count = self.random.below(4);
        let mut format = String::from("\"");
        for _ in 0..count {
            self.directive(&mut format);
            format.push_str(self.random.pick(&["", " ", "|", "a", "%%", "é"]));
        }
        format.push('"');
        self.put(format);
        let given = if self.random.percent(75) { count } else { self.random.below(5) };
        for _ in 0..given.saturating_sub(usize::from(piped)) {
            self.put(" ");
            self.operand(depth.saturating_sub(1));
        }
    }

    fn directive(&mut self, format: &mut String) {
        format.push('%');
        while self.random.percent(35) {
            format.push_str(self.random.pick(&["+", "-", "#", "0", " "]));
        }
        let numbers = ["0", "1", "2", "3", "5", "8", "12", "30", "99999999999"];
        if self.random.percent(8) {
            format
                .push_str(self.random.pick(&["[1]", "[2]", "[3]", "[0]", "[x]", "[", "[9]", "[]"]));
        }
        if self.random.percent(35) {
            format.push_str(self.random.pick(&numbers));
        } else if self.random.percent(8) {
            format.push('*');
        }
        if self.random.percent(25) {
            format.push('.');
            match self.random.below(10) {
                0 => {}
                1 => format.push('*'),
                _ => format.push_str(self.random.pick(&numbers)),
            }
        }
        if self.random.percent(3) {
            format.push_str("[1]");
        }
        format.push_str(self.random.pick(VERBS));
    }

    fn operand(&mut self, depth: usize) {
        match self.random.below(if depth == 0 { 80 } else { 100 }) {
            0..18 if self.random.permille(15) => self.pick(BAD_NUMBERS),
            0..18 => self.pick(NUMBERS),
            18..34 if self.random.permille(15) => self.pick(BAD_TEXTS),
            18..34 => self.pick(TEXTS),
            34..38 => self.pick(&["true", "false"]),
            38..40 => self.pick(&["$.null", "$.nope", "nil"]),
            40..46 => self.put("."),
            46..52 => self.fields(),
            52..55 => self.pick(OF_LIST),
            55..58 => self.pick(OF_MAP),
            58..61 => self.pick(OF_FLOAT),
            61..66 => self.pick(OF_INT),
            66..76 => {
                let known = self.variables.last().copied();
                let any = self.random.pick(VARIABLES);
                let name = known.filter(|_| self.random.percent(90)).unwrap_or("$");
                let name = if self.random.percent(3) { any } else { name };
                self.put(name);
                if name == "$" && self.random.percent(60) || self.random.percent(8) {
                    self.fields();
                }
            }
            76..80 => {
                self.pick(&["getIndex", "machineName", "clusterName", "bootMAC", "print", "print"]);
            }
            _ => {
                self.put("(");
                self.pipeline(depth - 1, false);
                self.put(")");
                if self.random.percent(4) {
                    self.fields();
                }
            }
        }
    }

    fn fields(&mut self) {
        for _ in 0..=self.random.below(10) / 6 {
            self.put(".");
            self.pick(FIELDS);
        }
    }
}
