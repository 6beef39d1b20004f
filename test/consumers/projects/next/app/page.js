export default function Page() {
  return <p>locks</p>
}
