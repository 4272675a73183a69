use inrush::*;
use inrush::event::*;
struct P; impl Observer for P { fn notice(&self, e:&Event){ if !matches!(e, Event::Progress{..}) { println!("{}", serde_json::to_string(e).unwrap()); } } }
fn main(){
  let path = std::env::args().nth(1).unwrap();
  let text = std::fs::read_to_string(&path).unwrap();
  let package = inrush::package::Package::parse(&text, std::path::Path::new(&path)).unwrap();
  package.check().unwrap();
  let o = RunOptions{ folder: std::path::Path::new(&path).parent().unwrap().to_path_buf(), runs_folder: "/tmp/try/runs".into(), streams_default:2, again: std::env::args().nth(2).as_deref()==Some("again"), connection_defaults: Default::default(), embedded: None, stop: Default::default(), observer:&P, fault: std::env::var("INRUSH_FAULT").ok().map(|t| t.parse().unwrap()) };
  if std::env::args().nth(2).as_deref()==Some("check") { match inrush::check(&package,&o) { Ok(p)=>println!("{p}"), Err(e)=>println!("ERR {e}\nhint {:?}", e.hint()) } return; }
  match inrush::run(&package,&o) { Ok(s)=>println!("{:?} {:?} {:?} peak {}", s.report.outcome, s.report.account, s.report.phases, s.report.machine.loader_memory_peak_bytes), Err(f)=>println!("ERR {} ({})\nhint: {:?}", f.error, f.error.exit_status(), f.error.hint()) }
}
